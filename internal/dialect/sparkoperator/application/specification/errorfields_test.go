package specification

import (
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestRefusalNamesWhatTheUserWrote checks that an error about a configuration key or a field of a Request names the
// field of the spec that the user wrote.
func TestRefusalNamesWhatTheUserWrote(t *testing.T) {
	for _, tc := range []struct {
		name    string
		conf    map[string]string
		refused submit.Error
		want    string
	}{
		{"a typed field", nil, submit.Error{Key: "spark.driver.memory"}, "spec.driver.memory"},
		{"the same key in sparkConf", map[string]string{"spark.driver.memory": "1"},
			submit.Error{Key: "spark.driver.memory"}, "spec.sparkConf[spark.driver.memory]"},
		{"a key without a field", map[string]string{"spark.x": "1"}, submit.Error{Key: "spark.x"},
			"spec.sparkConf[spark.x]"},
		{"a field of the request", nil, submit.Error{Field: "MainClass"}, "spec.mainClass"},
		{"a template", nil, submit.Error{Field: "ExecutorTemplate"}, "spec.executor.template"},
		{"the volumes of an overlay", nil, submit.Error{Field: "Driver.Volumes"}, "spec.volumes"},
		{"another part of an overlay", nil, submit.Error{Field: "Executor.Ports"}, "spec.executor.ports"},
		{"a part of an overlay that is the spec's", nil, submit.Error{Field: "Driver.SparkConfigMap"},
			"spec.sparkConfigMap"},
		{"a part that no field is known for", nil, submit.Error{Field: "Driver.OwnerReferences"}, "spec.driver"},
		{"a label of the pod", nil, submit.Error{Key: "spark.kubernetes.driver.label.own"}, "spec.driver.labels[own]"},
		{"a label of the application", nil, submit.Error{Key: "spark.kubernetes.executor.label.spark-role"},
			"metadata.labels[spark-role]"},
		{"a key of a map", nil, submit.Error{Key: "spark.kubernetes.executor.node.selector.a b"},
			"spec.executor.nodeSelector[a b]"},
		{"a key of both roles", nil, submit.Error{Key: "spark.kubernetes.node.selector.a b"}, "spec.nodeSelector[a b]"},
		{"a limit", nil, submit.Error{Key: "spark.kubernetes.driver.limit.cores"}, "spec.driver.coreLimit"},
		{"a local directory", nil, submit.Error{Key: "spark.kubernetes.driver.volumes.nfs.spark-local-dir-1.mount.path"}, "spec.volumes"},
		{"a key that a volume of sparkConf lacks",
			map[string]string{"spark.kubernetes.driver.volumes.nfs.data.options.path": "/"},
			submit.Error{Key: "spark.kubernetes.driver.volumes.nfs.data.mount.path"},
			"spec.sparkConf[spark.kubernetes.driver.volumes.nfs.data.mount.path]"},
		{"a Secret", nil, submit.Error{Key: "spark.kubernetes.executor.secrets.s"}, "spec.executor.secrets"},
		{"a typed field over sparkConf", map[string]string{"spark.kubernetes.driver.request.cores": "9"},
			submit.Error{Key: "spark.kubernetes.driver.request.cores"}, "spec.driver.coreRequest"},
		{"the whole configuration", nil, submit.Error{Field: "Conf"}, "spec.sparkConf"},
		{"a prefix of names", nil, submit.Error{Field: "ResourceNamePrefix"}, "metadata.name"},
		{"what no field is known for", nil, submit.Error{Field: "Owner"}, "spec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{SparkConf: tc.conf}}
			app.Spec.Driver.CoreRequest, app.Spec.Driver.Labels = new("2"), map[string]string{"own": "1"}

			c, err := Configuration(app)
			if err != nil {
				t.Fatal(err)
			}

			if got := FieldError(app, c, &tc.refused); got.Field != tc.want {
				t.Errorf("named %s, want %s", got.Field, tc.want)
			}
		})
	}
}
