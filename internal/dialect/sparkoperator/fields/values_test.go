package fields

import (
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// TestMemoryQuantity checks that a memory limit may be written in the notation of Spark or in the notation of
// Kubernetes.
func TestMemoryQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"2g": "2Gi", "2G": "2Gi", "2gb": "2Gi", "512m": "512Mi", "1t": "1Ti", "1k": "1Ki", "4096": "4Gi", " 2g ": "2Gi",
		"1.5g": "1536Mi", "0.5GB": "512Mi", "2Gi": "2Gi", "1.5Gi": "1536Mi", "500M": "500Mi", "1e9": "1e9",
	} {
		if got, err := MemoryQuantity(text); err != nil || got.String() != want {
			t.Errorf("%q is %s (%v), want %s", text, got.String(), err, want)
		}
	}

	for _, text := range []string{"", "g", "much", "-1g", "0g", "1.5.5g", "1 g b", "NaN"} {
		if got, err := MemoryQuantity(text); err == nil {
			t.Errorf("%q is %s", text, got.String())
		}
	}
}

// TestDynamicAllocationConf checks which keys the field dynamicAllocation sets. If the field does not enable dynamic
// allocation, it sets no key, and the keys of sparkConf stay as they are.
func TestDynamicAllocationConf(t *testing.T) {
	const prefix = "spark.dynamicAllocation."

	user := map[string]string{prefix + "enabled": "user", prefix + "minExecutors": "user",
		prefix + "executorIdleTimeout": "user"}
	for name, test := range map[string]struct {
		field *v1beta2.DynamicAllocation
		want  map[string]string // of changed keys, without the prefix
	}{
		"no field": {nil, nil},
		"disabled": {&v1beta2.DynamicAllocation{MinExecutors: new(int32(1)),
			ShuffleTrackingTimeout: new(int64(1))}, nil},
		"only enabled": {&v1beta2.DynamicAllocation{Enabled: true}, map[string]string{
			"enabled": "true", "shuffleTracking.enabled": "true",
		}},
		"all fields": {&v1beta2.DynamicAllocation{
			Enabled: true, InitialExecutors: new(int32(2)), MinExecutors: new(int32(1)), MaxExecutors: new(int32(3)),
			ShuffleTrackingEnabled: new(true), ShuffleTrackingTimeout: new(int64(1500)),
		}, map[string]string{
			"enabled": "true", "initialExecutors": "2", "minExecutors": "1", "maxExecutors": "3",
			"shuffleTracking.enabled": "true", "shuffleTracking.timeout": "1500ms",
		}},
		"zeros are values": {&v1beta2.DynamicAllocation{
			Enabled: true, InitialExecutors: new(int32(0)), MinExecutors: new(int32(0)),
			ShuffleTrackingEnabled: new(false), ShuffleTrackingTimeout: new(int64(0)),
		}, map[string]string{
			"enabled": "true", "initialExecutors": "0", "minExecutors": "0", "shuffleTracking.enabled": "false",
			"shuffleTracking.timeout": "0ms",
		}},
	} {
		want := map[string]string{}
		maps.Copy(want, user)

		for key, value := range test.want {
			want[prefix+key] = value
		}

		c := conf.FromMap(user)
		for _, times := range []string{"once", "twice"} {
			Connect.Configure(c, &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{DynamicAllocation: test.field}})

			if diff := cmp.Diff(want, c.Map()); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, times, diff)
			}
		}
	}

	if len(user) != 3 || user[prefix+"enabled"] != "user" {
		t.Errorf("the user's map was changed: %v", user)
	}
}

// TestTextsOfNumbers checks that 0 and negative numbers are values, and that a negative grace period is 1 second.
func TestTextsOfNumbers(t *testing.T) {
	for grace, want := range map[int64]string{0: "0s", 90: "90s", -7: "1s"} {
		app := &v1beta2.SparkApplication{}
		app.Spec.Executor.TerminationGracePeriodSeconds, app.Spec.Driver.TerminationGracePeriodSeconds = &grace,
			new(int64(5))
		app.Spec.Executor.Instances = new(int32(math.MinInt32))
		c := conf.New()
		Application.Configure(c, app)

		if diff := cmp.Diff(map[string]string{"spark.kubernetes.executor.terminationGracePeriodSeconds": want,
			"spark.executor.instances": "-2147483648"}, c.Map()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", grace, diff)
		}
	}
}
