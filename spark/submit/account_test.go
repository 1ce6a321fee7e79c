package submit

import (
	"errors"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// TestRunnerHasOwnAccount checks that the runner, the pod that runs spark-submit, can have a service account of its
// own, because the runner needs permissions to create Secrets and NetworkPolicies. An application selects the account
// with a key that is not passed to Spark. The driver keeps its own account.
func TestRunnerHasOwnAccount(t *testing.T) {
	for name, c := range map[string]struct{ configured, chosen, want string }{
		"neither sets an account":             {"", "", "driver"},
		"Request sets the account":            {"submit", "", "submit"},
		"configuration overrides the Request": {"submit", "uploads", "uploads"},
		"configuration sets the account":      {"", "uploads", "uploads"},
	} {
		r := minimal()
		r.RunnerServiceAccount = c.configured
		r.Conf.Set(driverAccountKey, "driver")
		if c.chosen != "" {
			r.Conf.Set(RunnerAccountKey, c.chosen)
		}
		made := buildRunner(t, r)
		if spec := made.Pod.Spec; spec.ServiceAccountName != c.want || spec.DeprecatedServiceAccount != c.want {
			t.Errorf("%s: the runner has %q, want %q", name, spec.ServiceAccountName, c.want)
		}
		props := runnerProps(t, made)
		if _, passed := props[RunnerAccountKey]; passed || props[driverAccountKey] != "driver" {
			t.Errorf("%s: spark-submit gets %v", name, props)
		}
		native, err := Build(r)
		if err != nil || native.Driver.Spec.ServiceAccountName != "driver" {
			t.Errorf("%s: the driver has %v, %v", name, native.Driver, err)
		}
	}
}

// TestDeniedAccount checks that the operator's own account is rejected for each pod of an application, for all ways to
// name the account and for both ways of submission.
func TestDeniedAccount(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"key of the driver":                       func(r *Request) { r.Conf.Set(driverAccountKey, "operator") },
		"key of the executors":                    func(r *Request) { r.Conf.Set(driverAccountKey, "spark"); r.Conf.Set(executorAccountKey, "operator") },
		"key of the runner":                       func(r *Request) { r.Conf.Set(RunnerAccountKey, "operator") },
		"RunnerServiceAccount":                    func(r *Request) { r.RunnerServiceAccount = "operator" },
		"driver template":                         func(r *Request) { r.DriverTemplate = []byte(`{"spec":{"serviceAccountName":"operator"}}`) },
		"deprecated field of the driver template": func(r *Request) { r.DriverTemplate = []byte(`{"spec":{"serviceAccount":"operator"}}`) },
		"executor template":                       func(r *Request) { r.ExecutorTemplate = []byte(`{"spec":{"serviceAccountName":"operator"}}`) },
		"driver overlay":                          func(r *Request) { r.Driver = overlay.Overlay{ServiceAccountName: "operator"} },
		"executor overlay":                        func(r *Request) { r.Executor = overlay.Overlay{ServiceAccountName: "operator"} },
		"reference to an environment variable": func(r *Request) {
			r.Environment = map[string]string{"A": "operator"}
			r.Conf.Set(driverAccountKey, "${env:A}")
		},
		"default account of a pod": func(r *Request) { r.DeniedServiceAccount = "default" },
	} {
		r := minimal()
		r.DeniedServiceAccount = "operator"
		change(&r)
		_, native := Build(r)
		_, runner := BuildRunner(r)
		for way, err := range map[string]error{"natively": native, "by spark-submit": runner} {
			refused, ok := errors.AsType[*Error](err)
			if !ok || refused.NotNative || !strings.Contains(err.Error(), "is the operator's own") {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
	}
	r := minimal()
	r.DeniedServiceAccount = "operator"
	r.Conf.Set(driverAccountKey, "spark")
	if _, err := Build(r); err != nil {
		t.Errorf("another account: %v", err)
	}
}
