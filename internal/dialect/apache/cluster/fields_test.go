package cluster

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

var update = flag.Bool("update", false, "write the clusters' part of docs/fields-apache.md")

// clusterSamples has a sample value for each field of a cluster's spec.
var clusterSamples = map[string]string{
	"runtimeVersions.sparkVersion":                  `runtimeVersions: {sparkVersion: 4.2.1}`,
	"runtimeVersions.scalaVersion":                  `runtimeVersions: {scalaVersion: "2.14"}`,
	"runtimeVersions.jdkVersion":                    `runtimeVersions: {jdkVersion: "25"}`,
	"clusterTolerations.instanceConfig.initWorkers": `clusterTolerations: {instanceConfig: {initWorkers: 3}}`,
	"clusterTolerations.instanceConfig.minWorkers":  `clusterTolerations: {instanceConfig: {minWorkers: 2}}`,
	"clusterTolerations.instanceConfig.maxWorkers":  `clusterTolerations: {instanceConfig: {maxWorkers: 9}}`,
	"masterSpec.statefulSetSpec":                    `masterSpec: {statefulSetSpec: {template: {metadata: {labels: {NAME: v}}, spec: {containers: []}}, minReadySeconds: 3}}`,
	"masterSpec.statefulSetMetadata":                `masterSpec: {statefulSetMetadata: {labels: {NAME: v}}}`,
	"masterSpec.serviceSpec":                        `masterSpec: {serviceSpec: {ports: [{name: a, port: 1}]}}`,
	"masterSpec.serviceMetadata":                    `masterSpec: {serviceMetadata: {annotations: {NAME: v}}}`,
	"workerSpec.statefulSetSpec":                    `workerSpec: {statefulSetSpec: {template: {metadata: {labels: {NAME: v}}, spec: {containers: []}}, minReadySeconds: 3}}`,
	"workerSpec.statefulSetMetadata":                `workerSpec: {statefulSetMetadata: {labels: {NAME: v}}}`,
	"workerSpec.serviceSpec":                        `workerSpec: {serviceSpec: {ports: [{name: a, port: 1}]}}`,
	"workerSpec.serviceMetadata":                    `workerSpec: {serviceMetadata: {annotations: {NAME: v}}}`,
	"workerSpec.horizontalPodAutoscalerSpec":        `workerSpec: {horizontalPodAutoscalerSpec: {metrics: []}}`,
	"workerSpec.networkPolicy.metricsPort":          `workerSpec: {networkPolicy: {metricsPort: 9404, metricsIngress: [{podSelector: {}}]}}`,
	"workerSpec.networkPolicy.metricsIngress":       `workerSpec: {networkPolicy: {metricsPort: 9404, metricsIngress: [{podSelector: {}}]}}`,
	"suspend":   `suspend: true`,
	"sparkConf": `sparkConf: {spark.NAME: v}`,
}

// vainOfClusters lists the fields of a cluster's spec that change no object, and what they change instead.
var vainOfClusters = map[string]string{
	"runtimeVersions.scalaVersion": "nothing",
	"runtimeVersions.jdkVersion":   "nothing",
	"suspend":                      "while it is `true`, only Services exist",
}

// TestFieldsDocument compares the part of docs/fields-apache.md about clusters with the code, or writes it with
// -update.
func TestFieldsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	fieldsOf := func(over string) map[string]map[string]any {
		sc := sparkCluster(autoscaledCluster(1, 5))
		if err := yaml.UnmarshalStrict([]byte("spec: {"+over+"}"), sc); err != nil {
			t.Fatalf("%s: %v", over, err)
		}

		for _, version := range []string{"v1", "v1beta1"} {
			if errs := admission.Faults(t, "spark.apache.org_sparkclusters.yaml", version, sc); len(errs) > 0 {
				t.Errorf("%s: the definition refuses it: %v", over, errs.ToAggregate())
			}
		}

		objects, err := Clusters{}.objects(sc)
		if err != nil {
			t.Fatal(err)
		}

		parts := map[string]map[string]any{}

		all, err := objects.All()
		if err != nil {
			t.Fatal(err)
		}

		for _, object := range all {
			kind := object.GetObjectKind().GroupVersionKind().Kind

			role := object.GetLabels()["spark-role"]
			if role != string(lifecycle.Master) && role != string(lifecycle.Worker) {
				role = ""
			}

			if kind == "NetworkPolicy" {
				role = strings.TrimPrefix(object.GetName(), sc.Name+"-")
			}

			parts[strings.TrimSpace(kind+" "+role)] = fieldtable.Flat(t, object)
		}
		return parts
	}

	line("")
	line("## SparkCluster")
	line("")
	line("| field | what it changes |")
	line("|---|---|")

	before := fieldsOf("")
	for _, path := range fieldtable.Fields(reflect.TypeFor[sparkv1.ClusterSpec](), "") {
		sample, ok := clusterSamples[path]
		if !ok {
			t.Errorf("spec.%s of a cluster is not in clusterSamples", path)
			continue
		}

		after := fieldsOf(sample)

		var changes []string
		for _, object := range slices.Sorted(maps.Keys(after)) {
			if parts := fieldtable.Changes(before[object], after[object]); len(parts) > 0 {
				changes = append(changes, object+": "+fieldtable.Codes(parts))
			}
		}

		switch instead, vain := vainOfClusters[path]; {
		case vain != (len(changes) == 0):
			t.Errorf("spec.%s of a cluster changes %v; it is in vainOfClusters: %v", path, changes, vain)
		case vain:
			changes = []string{instead}
		}

		line("| `%s` | %s |", path, strings.Join(changes, "; "))
	}

	fieldtable.Hold(t, "../../../../docs/fields-apache.md", "## SparkCluster", "", text.String(), *update)
}
