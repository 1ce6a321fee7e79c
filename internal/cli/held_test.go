package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application"
	dialectcluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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

// TestHeldIsShown checks that render creates no object from a held manifest and prints the reason, that lint finds
// nothing, and that convert keeps the suspension.
func TestHeldIsShown(t *testing.T) {
	for kind, text := range heldManifests {
		file := filepath.Join(t.TempDir(), kind+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		got := run(t, "render", "-f", file)
		if strings.Contains(got.out, "kind: Pod") || strings.Contains(got.out, "kind: StatefulSet") ||
			!strings.Contains(got.out+got.err, "spec.suspend is true") {
			t.Errorf("%s: render prints %s%s", kind, got.out, got.err)
		}

		if got := run(t, "lint", "-f", file); got.code != exit.OK || strings.Contains(got.out+got.err, "suspend") {
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

// TestHeldIsExplained checks that explain prints why an object is held and how the hold ends, and does not suspect
// that no operator runs. The status of such an object has no observedGeneration, because the operator writes only
// Ready, and a request to restart it waits.
func TestHeldIsExplained(t *testing.T) {
	now, suspend := time.Now(), true

	meta := metav1.ObjectMeta{Namespace: "n", Name: "held", Generation: 3,
		Annotations: map[string]string{"sparkoperator.dev/restart": "now"}}
	for _, state := range []string{"", "RunningHealthy", "Suspended"} {
		app, sc := &sparkv1.SparkApplication{ObjectMeta: meta}, &sparkv1.SparkCluster{ObjectMeta: meta}

		app.Spec.Suspend, sc.Spec.Suspend = &suspend, &suspend
		if state != "" {
			app.Status.CurrentState = &sparkv1.ApplicationState{CurrentStateSummary: sparkv1.ApplicationStateSummary(state)}
			sc.Status.CurrentState = &sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterStateSummary(state)}
		}

		plans := map[client.Object]lifecycle.Plan{
			app: application.Applications{}.Decide(app, lifecycle.Observed{}, now),
			sc:  dialectcluster.Clusters{}.Decide(sc, lifecycle.Observed{}, now),
		}
		for object, plan := range plans {
			var all strings.Builder
			for _, line := range screen.Explanation(now, screen.Zone{}, object, nil, nil, plan) {
				all.WriteString(line.Label + ": " + line.Text + "\n")
			}

			reason, way := "SuspendHeld", "sparkctl resume"
			if state != "" {
				reason = "Suspend"
			}

			if object == client.Object(app) && state != "" {
				way = "driver pod" // which is being deleted
			}

			if text := all.String(); !strings.Contains(text, "why: "+reason) || !strings.Contains(text, way) ||
				strings.Contains(text, "has not handled") {
				t.Errorf("%T in state %q:\n%s", object, state, text)
			}

			if held := kube.Summarize(object); state == "" && held.Result != kube.Suspended {
				t.Errorf("%T in state %q has the result %s", object, state, held.Result)
			}
		}
	}
}

// TestWaitForQuotaIsExplained checks that explain prints why an object in a queue does not start, and neither suspects
// that no operator runs nor announces pods, before the first attempt and after an eviction.
func TestWaitForQuotaIsExplained(t *testing.T) {
	now := time.Now()
	for _, reason := range []string{lifecycle.ReasonQuotaPending, lifecycle.ReasonQuotaRequestFailed, lifecycle.ReasonFlavorUnreadable} {
		for _, observed := range []int64{0, 3} {
			app := &sparkv1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "waits", Generation: 3}}
			app.Status.ObservedGeneration = observed
			app.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: "no room", ObservedGeneration: 3}}

			var all strings.Builder
			for _, line := range screen.Explanation(now, screen.Zone{}, app, nil, nil, application.Applications{}.Decide(app, lifecycle.Observed{}, now)) {
				all.WriteString(line.Label + ": " + line.Text + "\n")
			}

			if text := all.String(); !strings.Contains(text, "why: "+reason+": no room") || strings.Contains(text, "has not handled") ||
				!strings.Contains(text, "next: the operator creates the pods when the queue admits them") {
				t.Errorf("%s, observed generation %d:\n%s", reason, observed, text)
			}
		}
	}
}
