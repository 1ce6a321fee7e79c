package specification

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestHashIsFixed compares the hash of a spec with the hash that is stored in the status of existing applications. If
// the hash has to change, hashVersion must change too. Otherwise an upgrade of the operator restarts every application.
func TestHashIsFixed(t *testing.T) {
	if got, want := Hash(&sparkapp.Sample().Spec), "2:760d17726a4dd54905befec3"; got != want {
		t.Errorf("Hash = %s, want %s", got, want)
	}
}

func TestHash(t *testing.T) {
	type edit = func(*v1beta2.SparkApplicationSpec)

	for _, c := range []struct {
		name string
		edit edit
		want bool // another run
	}{
		{"nothing", func(*v1beta2.SparkApplicationSpec) {}, false},
		{"suspend", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = new(true) }, false},
		{"time to live", func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = new(int64(5)) }, false},
		{"timeouts", func(s *v1beta2.SparkApplicationSpec) { s.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(5))} }, false},
		{"restart policy", func(s *v1beta2.SparkApplicationSpec) { s.RestartPolicy.Type = v1beta2.RestartPolicyAlways },
			false},
		{"disruption budget", func(s *v1beta2.SparkApplicationSpec) { s.DriverPodDisruptionBudget = new(true) }, false},
		{"web UI", func(s *v1beta2.SparkApplicationSpec) {
			s.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))}
		}, false},
		{"ports of the driver", func(s *v1beta2.SparkApplicationSpec) {
			s.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: new(int32(80))}}
		}, false},
		{"dead fields", func(s *v1beta2.SparkApplicationSpec) {
			s.FailureRetries, s.RetryInterval = new(int32(1)), new(int64(1))
		}, false},
		{"image", func(s *v1beta2.SparkApplicationSpec) { s.Image = new("other") }, true},
		{"arguments", func(s *v1beta2.SparkApplicationSpec) { s.Arguments = []string{"1"} }, true},
		{"conf", func(s *v1beta2.SparkApplicationSpec) { s.SparkConf = map[string]string{"spark.ui.enabled": "false"} }, true},
		{"executor field", func(s *v1beta2.SparkApplicationSpec) { s.Executor.Tolerations = []corev1.Toleration{{Key: "k"}} }, true},
		{"instances", func(s *v1beta2.SparkApplicationSpec) { s.Executor.Instances = new(int32(9)) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := sparkapp.Sample()
			after := sparkapp.Sample()
			c.edit(&after.Spec)

			if got := lifecycle.Edited(Hash(&before.Spec), Hash(&after.Spec)); got != c.want {
				t.Errorf("another run: %v, want %v", got, c.want)
			}
		})
	}
}

func TestHashKeepsTheSpec(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.Suspend = new(true) })
	if h := Hash(&app.Spec); !strings.HasPrefix(h, "2:") || app.Spec.Suspend == nil || !*app.Spec.Suspend {
		t.Errorf("hash %s, suspend %v", h, app.Spec.Suspend)
	}
}

// BenchmarkHash measures the cost of the hash, which every pass over an application computes.
func BenchmarkHash(b *testing.B) {
	spec := &sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Spec.SparkConf = map[string]string{}
		for i := range 40 {
			a.Spec.SparkConf["spark.setting."+strings.Repeat("x", i)] = "value"
		}
	}).Spec
	for b.Loop() {
		Hash(spec)
	}
}
