package dialect

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestExecutorCountIsNeverTooLow checks the number that the rule limits.executors limits, for every way in which Spark
// may read a larger one. Spark removes all characters up to the blank around a value, and replaces references such as
// ${spark.n}, whose values the operator does not look up here.
func TestExecutorCountIsNeverTooLow(t *testing.T) {
	const instances, enabled, most = "spark.executor.instances", "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.maxExecutors"
	for name, c := range map[string]struct {
		conf      map[string]string
		want      int64
		unlimited bool
	}{
		"no settings":                            {nil, 2, false},
		"a number":                               {map[string]string{instances: "7"}, 7, false},
		"a number with blanks":                   {map[string]string{instances: "\t7 \n"}, 7, false},
		"a number with control characters":       {map[string]string{instances: "\x017\x1f"}, 7, false},
		"no number, which Spark rejects":         {map[string]string{instances: "many"}, 2, false},
		"a maximum without dynamic allocation":   {map[string]string{instances: "7", most: "50"}, 7, false},
		"dynamic allocation that is off":         {map[string]string{instances: "7", enabled: "false", most: "50"}, 7, false},
		"dynamic allocation":                     {map[string]string{instances: "7", enabled: "true", most: "50"}, 50, false},
		"dynamic allocation in other letters":    {map[string]string{enabled: " TRUE ", most: "50"}, 50, false},
		"dynamic allocation, control characters": {map[string]string{enabled: "\x01true\x00", most: "\x0250"}, 50, false},
		"dynamic allocation without a maximum":   {map[string]string{instances: "7", enabled: "true"}, math.MaxInt32, true},
		"dynamic allocation, Spark's maximum":    {map[string]string{enabled: "true", most: "2147483647"}, math.MaxInt32, true},
		"dynamic allocation, one below it":       {map[string]string{enabled: "true", most: "2147483646"}, math.MaxInt32 - 1, false},
		"dynamic allocation, a huge maximum":     {map[string]string{enabled: "true", most: "99999999999999999999"}, math.MaxInt32, true},
		"dynamic allocation, no number":          {map[string]string{enabled: "true", most: "many"}, math.MaxInt32, true},
		"dynamic allocation, maximum of 0":       {map[string]string{enabled: "true", most: "0"}, 0, false},
		"a reference":                            {map[string]string{instances: "${spark.n}"}, math.MaxInt32, true},
		"a number with a reference in it":        {map[string]string{instances: "1${spark.n}"}, math.MaxInt32, true},
		"a reference as the switch":              {map[string]string{instances: "7", enabled: "${spark.on}"}, math.MaxInt32, true},
		"a reference as the switch, a maximum":   {map[string]string{instances: "7", enabled: "${spark.on}", most: "50"}, 50, false},
		"a reference as the switch, a number":    {map[string]string{instances: "70", enabled: "${spark.on}", most: "50"}, 70, false},
		"references everywhere but the maximum":  {map[string]string{instances: "${spark.n}", enabled: "${spark.on}", most: "50"}, math.MaxInt32, true},
		"a reference as the maximum":             {map[string]string{enabled: "true", most: "${spark.n}"}, math.MaxInt32, true},
		"a reference that has no effect":         {map[string]string{instances: "7", most: "${spark.n}"}, 7, false},
		"instances by reference have no effect":  {map[string]string{instances: "${spark.n}", enabled: "true", most: "50"}, 50, false},
	} {
		got, unlimited := ExecutorCount(func(key string) (string, bool) { value, ok := c.conf[key]; return value, ok }, 2)
		if got != c.want || unlimited != c.unlimited {
			t.Errorf("%s: %d, unlimited %v, want %d, %v", name, got, unlimited, c.want, c.unlimited)
		}
	}
}

func TestPodOf(t *testing.T) {
	meta := &metav1.ObjectMeta{Name: "pod"}
	spec := &corev1.PodSpec{InitContainers: []corev1.Container{{Image: "init"}}, Containers: []corev1.Container{{Image: "sidecar"}, {Image: "spark"}}}
	want := Pod{Role: "driver", Field: "spec.driver", ImageField: "spec.driver", AccountField: "spec.driver", Image: "spark", Meta: meta, Spec: spec}
	if diff := cmp.Diff(want, PodOf("driver", "spec.driver", meta, spec)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := PodOf("driver", "spec.driver", meta, &corev1.PodSpec{}).Image; got != "" {
		t.Errorf("a pod without containers has the image %q", got)
	}
}
