package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// heldManifests are manifests of both kinds of spark.apache.org with spec.suspend.
var heldManifests = map[string]string{
	"application": `apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: held, namespace: default}
spec: {suspend: true, mainClass: Pi, jars: "local:///pi.jar", runtimeVersions: {sparkVersion: 4.1.4}, sparkConf: {spark.kubernetes.container.image: spark}}
`,
	"cluster": `apiVersion: spark.apache.org/v1
kind: SparkCluster
metadata: {name: held, namespace: default}
spec: {suspend: true, runtimeVersions: {sparkVersion: 4.1.4}, sparkConf: {spark.kubernetes.container.image: spark}, clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}}
`,
}

// TestHeldIsShown checks that render creates no object from a held manifest and says why, that lint warns, and that
// convert keeps the hold.
func TestHeldIsShown(t *testing.T) {
	for kind, text := range heldManifests {
		file := filepath.Join(t.TempDir(), kind+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, "render", "-f", file)
		if strings.Contains(got.out, "kind: Pod") || strings.Contains(got.out, "kind: StatefulSet") || !strings.Contains(got.out+got.err, "spec.suspend is true") {
			t.Errorf("%s: render prints %s%s", kind, got.out, got.err)
		}
		if got := run(t, "lint", "-f", file); !strings.Contains(got.out+got.err, "spec.suspend") {
			t.Errorf("%s: lint prints %s%s", kind, got.out, got.err)
		}
		if kind == "cluster" {
			continue
		}
		converted := run(t, "convert", "-f", file)
		if converted.code != exit.OK || !strings.Contains(converted.out, "suspend: true") {
			t.Errorf("%s: convert prints %s%s", kind, converted.out, converted.err)
		}
		if err := os.WriteFile(file, []byte(converted.out), 0o600); err != nil {
			t.Fatal(err)
		}
		if back := run(t, "convert", "-f", file); back.code != exit.OK || !strings.Contains(back.out, "suspend: true") {
			t.Errorf("%s: convert prints %s%s on the way back", kind, back.out, back.err)
		}
	}
}
