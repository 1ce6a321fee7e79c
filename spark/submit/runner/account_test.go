package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
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
		r := kit.Minimal()
		r.RunnerServiceAccount = c.configured
		r.Conf.Set(draft.DriverAccountKey, "driver")

		if c.chosen != "" {
			r.Conf.Set(submit.RunnerAccountKey, c.chosen)
		}

		made := buildRunner(t, r)
		if spec := made.Pod.Spec; spec.ServiceAccountName != c.want || spec.DeprecatedServiceAccount != c.want {
			t.Errorf("%s: the runner has %q, want %q", name, spec.ServiceAccountName, c.want)
		}

		props := runnerProps(t, made)
		if _, passed := props[submit.RunnerAccountKey]; passed || props[draft.DriverAccountKey] != "driver" {
			t.Errorf("%s: spark-submit gets %v", name, props)
		}

		native, err := native.Build(r)
		if err != nil || native.Driver.Spec.ServiceAccountName != "driver" {
			t.Errorf("%s: the driver has %v, %v", name, native.Driver, err)
		}
	}
}

// TestDeniedAccount checks that the operator's own account is rejected for each pod of an application, for all ways to
// name the account and for both ways of submission.
func TestDeniedAccount(t *testing.T) {
	for name, change := range map[string]func(*submit.Request){
		"key of the driver": func(r *submit.Request) { r.Conf.Set(draft.DriverAccountKey, "operator") },
		"key of the executors": func(r *submit.Request) {
			r.Conf.Set(draft.DriverAccountKey, "spark")
			r.Conf.Set(draft.ExecutorAccountKey, "operator")
		},
		"key of the runner": func(r *submit.Request) {
			r.Conf.Set(submit.RunnerAccountKey,
				"operator")
		},
		"RunnerServiceAccount":                    func(r *submit.Request) { r.RunnerServiceAccount = "operator" },
		"driver template":                         func(r *submit.Request) { r.DriverTemplate = []byte(`{"spec":{"serviceAccountName":"operator"}}`) },
		"deprecated field of the driver template": func(r *submit.Request) { r.DriverTemplate = []byte(`{"spec":{"serviceAccount":"operator"}}`) },
		"executor template":                       func(r *submit.Request) { r.ExecutorTemplate = []byte(`{"spec":{"serviceAccountName":"operator"}}`) },
		"driver overlay":                          func(r *submit.Request) { r.Driver = overlay.Overlay{ServiceAccountName: "operator"} },
		"executor overlay":                        func(r *submit.Request) { r.Executor = overlay.Overlay{ServiceAccountName: "operator"} },
		"reference to an environment variable": func(r *submit.Request) {
			r.Environment = map[string]string{"A": "operator"}
			r.Conf.Set(draft.DriverAccountKey, "${env:A}")
		},
		"default account of a pod": func(r *submit.Request) { r.DeniedServiceAccount = "default" },
	} {
		r := kit.Minimal()
		r.DeniedServiceAccount = "operator"
		change(&r)
		_, native := native.Build(r)

		_, runner := Build(r)
		for way, err := range map[string]error{"natively": native, "by spark-submit": runner} {
			refused, ok := errors.AsType[*submit.Error](err)
			if !ok || refused.NotNative || !strings.Contains(err.Error(), "is the operator's own") {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
	}

	r := kit.Minimal()
	r.DeniedServiceAccount = "operator"
	r.Conf.Set(draft.DriverAccountKey, "spark")

	if _, err := native.Build(r); err != nil {
		t.Errorf("another account: %v", err)
	}
}
