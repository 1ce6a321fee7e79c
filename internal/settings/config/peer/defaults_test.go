package peer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPropertiesOfApplications checks that the Spark configuration in a properties file becomes an entry of the
// platform's defaults, before the entries of the configuration file. Keys that cannot have a default must be reported,
// but must not prevent the operator's start.
func TestPropertiesOfApplications(t *testing.T) {
	dir := t.TempDir()

	properties, file := filepath.Join(dir, "p.properties"), filepath.Join(dir, "c.yaml")
	for path, text := range map[string]string{
		properties: "spark.kubernetes.operator.reconciler.parallelism=7\nspark.sql.shuffle.partitions 17\nspark.master local\nspark.kubernetes.operator.unknown=1\n" +
			"spark.kubernetes.operator.watchedNamespaces=*\nspark.metrics.conf.x=1\n",
		file: "defaults: [{name: own, sparkConf: {spark.a: b}}]\napache: {propertiesFile: " + properties + "}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c, unused, err := (&Flags{}).Load(file)
	if err != nil {
		t.Fatal(err)
	}

	if len(c.Defaults) != 2 || c.Defaults[0].Name != propertiesEntry || c.Defaults[1].Name != "own" ||
		c.Controller.Workers != 7 {
		t.Fatalf("the defaults are %+v", c.Defaults)
	}

	if diff := cmp.Diff(map[string]string{"spark.sql.shuffle.partitions": "17"}, c.Defaults[0].SparkConf); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	reported := map[string]string{}
	for _, u := range unused {
		reported[u.Name] = u.Why
	}

	if len(reported) != 3 || !strings.Contains(reported["spark.master"], "cannot be a default") ||
		reported["spark.kubernetes.operator.unknown"] == "" || reported["spark.metrics.conf.x"] == "" {
		t.Errorf("without effect are %v", reported)
	}
}
