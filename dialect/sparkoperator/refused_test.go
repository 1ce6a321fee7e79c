package sparkoperator

import (
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestRefusalNamesWhatTheUserWrote: the builder speaks of configuration keys and fields of its request, the user of a spec.
func TestRefusalNamesWhatTheUserWrote(t *testing.T) {
	for _, tc := range []struct {
		name    string
		conf    map[string]string
		refused submit.Error
		want    string
	}{
		{"a typed field", nil, submit.Error{Key: "spark.driver.memory"}, "spec.driver.memory"},
		{"the same key in sparkConf", map[string]string{"spark.driver.memory": "1"}, submit.Error{Key: "spark.driver.memory"}, "spec.sparkConf[spark.driver.memory]"},
		{"a key without a field", map[string]string{"spark.x": "1"}, submit.Error{Key: "spark.x"}, "spec.sparkConf[spark.x]"},
		{"a field of the request", nil, submit.Error{Field: "MainClass"}, "spec.mainClass"},
		{"a template", nil, submit.Error{Field: "ExecutorTemplate"}, "spec.executor.template"},
		{"the volumes of an overlay", nil, submit.Error{Field: "Driver.Volumes"}, "spec.volumes"},
		{"another part of an overlay", nil, submit.Error{Field: "Executor.Ports"}, "spec.executor"},
		{"what no field is known for", nil, submit.Error{Field: "Owner"}, "spec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{SparkConf: tc.conf}}
			if got := asFieldError(app, &tc.refused); got.Field != tc.want {
				t.Errorf("named %s, want %s", got.Field, tc.want)
			}
		})
	}
}
