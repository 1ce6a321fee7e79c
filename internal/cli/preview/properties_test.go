package preview_test

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
)

const configuration = `apiVersion: config.sparkoperator.dev/v1alpha1
kind: Configuration
defaults:
  - name: all
    sparkDefaults: |
      spark.sql.adaptive.enabled true
      spark.ui.enabled true
  - name: images
    images: {"4.1": "registry.example.org/spark:4.1.4"}
`

// TestOriginsOfProperties checks where the properties of each kind come from: a field, sparkConf, a default of the
// platform, or the operator. The value of a secret is hidden.
func TestOriginsOfProperties(t *testing.T) {
	file := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}

	operator, err := preview.Load(file)
	if err != nil {
		t.Fatal(err)
	}

	own := map[string]string{"spark.ui.enabled": "false", "spark.hadoop.fs.s3a.secret.key": "hunter2"}
	meta := metav1.ObjectMeta{Namespace: "etl", Name: "pi"}
	common := map[string]preview.Property{
		"spark.sql.adaptive.enabled":       {Value: "true", Origin: "defaults[0] (all)"},
		"spark.ui.enabled":                 {Value: "false", Origin: "spec.sparkConf[spark.ui.enabled]"},
		"spark.hadoop.fs.s3a.secret.key":   {Value: "*********(redacted)", Origin: "spec.sparkConf[spark.hadoop.fs.s3a.secret.key]"},
		"spark.kubernetes.container.image": {Value: "registry.example.org/spark:4.1.4", Origin: "defaults[1] (images)"},
		"spark.kubernetes.namespace":       {Value: "etl", Origin: "the operator"},
	}

	for name, test := range map[string]struct {
		object client.Object
		want   map[string]preview.Property
	}{
		"application": {
			&v1beta2.SparkApplication{ObjectMeta: meta, Spec: v1beta2.SparkApplicationSpec{
				Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
				SparkConf: own, Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Memory: new("512m")}},
			}},
			map[string]preview.Property{
				"spark.driver.memory": {Value: "512m", Origin: "spec.driver.memory"}, "spark.executor.instances": {Value: "1", Origin: "the operator"},
			},
		},
		"application of spark.apache.org": {
			&sparkv1.SparkApplication{ObjectMeta: meta, Spec: sparkv1.ApplicationSpec{
				MainClass: "org.apache.spark.examples.SparkPi", Jars: "local:///opt/spark/examples/jars/spark-examples.jar", RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}, SparkConf: own,
			}},
			nil,
		},
		"Connect server": {
			&v1alpha1.SparkConnect{ObjectMeta: meta, Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", SparkConf: own, Executor: v1alpha1.ExecutorSpec{Instances: new(int32(2))}}},
			map[string]preview.Property{"spark.executor.instances": {Value: "2", Origin: "spec.executor.instances"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			launched, err := operator.Launch(test.object)
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]preview.Property{}
			for _, p := range launched.Properties(preview.UsedDefaults(operator.Defaults(test.object), launched.Objects)) {
				got[p.Key] = preview.Property{Value: p.Value, Origin: p.Origin}
			}

			for _, wanted := range []map[string]preview.Property{common, test.want} {
				for key, want := range wanted {
					if got[key] != want {
						t.Errorf("%s is %+v, want %+v", key, got[key], want)
					}
				}
			}

			if t.Failed() {
				t.Logf("%v, %s", got, launched.Why)
			}
		})
	}

	cluster := &sparkv1.SparkCluster{ObjectMeta: meta, Spec: sparkv1.ClusterSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}, SparkConf: own}}

	launched, err := operator.Launch(cluster)
	if got := launched.Properties(nil); err != nil || len(got) > 0 {
		t.Errorf("a cluster, which launches nothing, has the properties %v, %v", got, err)
	}
}
