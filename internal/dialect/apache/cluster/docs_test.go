package cluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// TestClustersPage checks that every SparkCluster in docs/clusters.md renders without a warning.
func TestClustersPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}

	clusters := 0
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.Contains(text, "kind: SparkCluster") {
			continue
		}
		clusters++
		var sc sparkv1.SparkCluster

		data, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}

		strict := json.NewDecoder(strings.NewReader(string(data)))
		strict.DisallowUnknownFields()

		if err := strict.Decode(&sc); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}

		if sc.Namespace == "" {
			sc.Namespace = "default"
		}

		if faults := validateCluster(&sc); len(faults) > 0 {
			t.Errorf("%s: %v", sc.Name, faults)
			continue
		}

		o, err := testClusters.objects(&sc)
		if err != nil {
			t.Fatal(err)
		}

		if warnings := inClusterFields(o.Warnings); len(warnings) > 0 {
			t.Errorf("%s: %q", sc.Name, warnings)
		}

		all, err := o.All()
		if err != nil {
			t.Fatal(err)
		}
		// The table of objects names each object.
		for _, object := range all {
			name := strings.Replace(object.GetName(), sc.Name, "N", 1)
			if kind := object.GetObjectKind().GroupVersionKind().Kind; !strings.Contains(string(page),
				"| "+kind+" |") || kind != "Secret" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("the page has no %s %s", kind, name)
			}
		}
	}

	if clusters < 2 {
		t.Errorf("the page has %d clusters", clusters)
	}
}
