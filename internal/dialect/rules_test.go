package dialect

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// TestExecutorCountIsNeverTooLow checks the number that the rule limits.executors limits, for every way in which Spark
// may read a larger one. Spark removes all characters up to the blank around a value, and replaces references such as
// ${spark.n}. A value that only the driver can read counts as unlimited.
func TestExecutorCountIsNeverTooLow(t *testing.T) {
	const (
		instances, most = "spark.executor.instances", "spark.dynamicAllocation.maxExecutors"
		streaming       = "spark.streaming.dynamicAllocation.enabled"
		streamingMost   = "spark.streaming.dynamicAllocation.maxExecutors"
		enabled, on, n  = "spark.dynamicAllocation.enabled", "spark.on", "spark.n"
	)
	for name, c := range map[string]struct {
		conf      map[string]string
		want      int64
		unlimited bool
	}{
		"no settings":                      {nil, 2, false},
		"a number":                         {map[string]string{instances: "7"}, 7, false},
		"a number with a sign":             {map[string]string{instances: "+7"}, 7, false},
		"a number with blanks":             {map[string]string{instances: "\t7 \n"}, 7, false},
		"a number with control characters": {map[string]string{instances: "\x017\x1f"}, 7, false},
		"a text":                           {map[string]string{instances: "many"}, math.MaxInt32, true},
		"an empty text":                    {map[string]string{instances: ""}, math.MaxInt32, true},
		"digits that only Java reads": {map[string]string{instances: "\u0665\u0660"},
			math.MaxInt32, true},
		"a number beyond an int32":             {map[string]string{instances: "2147483648"}, math.MaxInt32, true},
		"a maximum without dynamic allocation": {map[string]string{instances: "7", most: "50"}, 7, false},
		"dynamic allocation that is off": {map[string]string{instances: "7", enabled: "false", most: "50"},
			7, false},
		"dynamic allocation": {map[string]string{instances: "7", enabled: "true", most: "50"},
			50, false},
		"dynamic allocation in other letters": {map[string]string{enabled: " TRUE ", most: "50"}, 50, false},
		"dynamic allocation with control characters": {map[string]string{enabled: "\x01true\x00", most: "\x0250"}, 50,
			false},
		"dynamic allocation without a maximum": {map[string]string{instances: "7", enabled: "true"},
			math.MaxInt32, true},
		"dynamic allocation with Spark's maximum": {map[string]string{enabled: "true", most: "2147483647"},
			math.MaxInt32, true},
		"dynamic allocation with one below it": {map[string]string{enabled: "true", most: "2147483646"},
			math.MaxInt32 - 1, false},
		"dynamic allocation with a huge maximum": {map[string]string{enabled: "true", most: "99999999999999999999"},
			math.MaxInt32, true},
		"dynamic allocation with a text": {map[string]string{enabled: "true", most: "many"},
			math.MaxInt32, true},
		"dynamic allocation with a maximum of 0": {map[string]string{enabled: "true", most: "0"}, 0, false},
		"a switch that is no switch": {map[string]string{instances: "7", enabled: "on", most: "50"},
			math.MaxInt32, true},
		"streaming": {map[string]string{instances: "7", streaming: "true",
			streamingMost: "50"}, 50, false},
		"streaming with fewer than without": {map[string]string{instances: "7", streaming: "true",
			streamingMost: "5"}, 7, false},
		"streaming without a maximum": {map[string]string{instances: "7", streaming: "true"},
			math.MaxInt32, true},
		"streaming and dynamic allocation": {map[string]string{enabled: "true", most: "50", streaming: "true",
			streamingMost: "5"}, 50, false},
		"streaming with a switch that is no switch": {map[string]string{streaming: "on"}, math.MaxInt32, true},
		"a reference":             {map[string]string{instances: "${spark.n}", n: "5"}, 5, false},
		"a reference in a number": {map[string]string{instances: "1${spark.n}", n: "5"}, 15, false},
		"a reference to a reference": {map[string]string{instances: "${spark.m}",
			"spark.m": "${spark.n}", n: " 5 "}, 5, false},
		"a reference to a key that is missing":    {map[string]string{instances: "${spark.n}"}, math.MaxInt32, true},
		"a reference to a variable of the driver": {map[string]string{instances: "${env:N}"}, math.MaxInt32, true},
		"a reference to a property of the driver": {map[string]string{instances: "1${system:n}"},
			math.MaxInt32, true},
		"a reference to itself": {map[string]string{instances: "${spark.executor.instances}"},
			math.MaxInt32, true},
		"a reference as the switch": {map[string]string{instances: "7", enabled: "${spark.on}",
			on: "true", most: "50"}, 50, false},
		"a reference as the switch that is off": {map[string]string{instances: "7", enabled: "${spark.on}",
			on: "false", most: "50"}, 7, false},
		"a missing reference as the switch": {map[string]string{instances: "7", enabled: "${spark.on}",
			most: "50"}, math.MaxInt32, true},
		"a reference as the maximum": {map[string]string{enabled: "true", most: "${spark.n}", n: "50"},
			50, false},
		"a maximum that has no effect": {map[string]string{instances: "7", most: "${spark.n}"}, 7, false},
		"instances that have no effect": {map[string]string{instances: "many", enabled: "true",
			most: "50"}, 50, false},
		"a name that the launch replaces": {map[string]string{instances: "${spark.app.name}",
			"spark.app.name": "1"}, math.MaxInt32, true},
		"a name inside of a number": {map[string]string{instances: "1${spark.app.name}",
			"spark.app.name": ""}, math.MaxInt32, true},
		"a port that the launch sets": {map[string]string{instances: "${spark.driver.blockManager.port}"},
			math.MaxInt32, true},
	} {
		settings := conf.FromMap(c.conf)

		_, got, unlimited := executorCount(settings, 2)
		if got != c.want || unlimited != c.unlimited {
			t.Errorf("%s: %d, unlimited %v, want %d, %v", name, got, unlimited, c.want, c.unlimited)
		}

		if !settings.Equal(conf.FromMap(c.conf)) {
			t.Errorf("%s: the configuration was changed to %v", name, settings.Map())
		}
	}
}

func TestPodOf(t *testing.T) {
	meta := &metav1.ObjectMeta{Name: "pod"}
	spec := &corev1.PodSpec{InitContainers: []corev1.Container{{Image: "init"}},
		Containers: []corev1.Container{{Image: "sidecar"}, {Image: "spark"}}}

	want := Pod{Role: "driver", Field: "spec.driver", ImageField: "spec.driver", AccountField: "spec.driver",
		Image: "spark", Container: &spec.Containers[1], Meta: meta, Spec: spec}
	if diff := cmp.Diff(want, PodOf("driver", "spec.driver", meta, spec)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := PodOf("driver", "spec.driver", meta, &corev1.PodSpec{}).Image; got != "" {
		t.Errorf("a pod without containers has the image %q", got)
	}
}

// TestExecutorNumber checks which texts of a configuration key are numbers of executors.
func TestExecutorNumber(t *testing.T) {
	for text, want := range map[string]struct {
		n   int32
		set bool
	}{
		"0": {0, true}, " 5 ": {5, true}, "+5": {5, true}, "-1": {0, true}, "2147483647": {math.MaxInt32, true},
		"-2147483648": {0, true},
		"2147483648":  {}, "-2147483649": {}, "99999999999": {}, "": {}, "many": {}, "2.5": {}, "${spark.n}": {},
	} {
		if n, set := ExecutorNumber(text); n != want.n || set != want.set {
			t.Errorf("%q: %d, %v; want %d, %v", text, n, set, want.n, want.set)
		}
	}
}
