package naming

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

func TestNames(t *testing.T) {
	long := "an-application-with-a-name-that-is-as-long-as-a-label-may-be-63"

	app := func(name string) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	if a, b := Prefix(app("pi"), "1"), Prefix(app("pi"), "2"); a == b {
		t.Errorf("two attempts share the prefix %s", a)
	}

	if got := Prefix(app(long), "1") + "-driver-svc"; len(got) > 63 {
		t.Errorf("%s has %d characters", got, len(got))
	}

	if got := AppID("a1b2-c3"); got != "spark-a1b2c3" {
		t.Errorf("appID = %s", got)
	}

	for _, tc := range []struct {
		want string
		spec v1beta2.SparkApplicationSpec
	}{
		{"pi-driver", v1beta2.SparkApplicationSpec{}},
		{"conf", v1beta2.SparkApplicationSpec{SparkConf: map[string]string{DriverPodNameKey: "conf"}}},
		{"field", v1beta2.SparkApplicationSpec{SparkConf: map[string]string{DriverPodNameKey: "conf"},
			Driver: v1beta2.DriverSpec{PodName: new("field")}}},
	} {
		a := app("pi")

		a.Spec = tc.spec
		if got := DriverPodName(a); got != tc.want {
			t.Errorf("DriverPodName = %s, want %s", got, tc.want)
		}
	}
}
