package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func TestLineOf(t *testing.T) {
	for version, want := range map[string]string{
		"4.1.4": "4.1", "v4.1.4": "4.1", "3.5": "3.5", "4.2.0-SNAPSHOT": "4.2", "4.0-vendor.7": "4.0", "": "", "latest": "", "4": "", "4.1x": "",
	} {
		if got := lineOf(version); got != want {
			t.Errorf("the line of %q is %q, want %q", version, got, want)
		}
	}
}

func TestVersionMismatch(t *testing.T) {
	driver := func(version, submitter string) lifecycle.Driver {
		return lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, SparkVersion: version, Submitter: submitter}
	}

	executors := func(versions ...string) (all []lifecycle.Executor) {
		for _, version := range versions {
			all = append(all, lifecycle.Executor{Name: "pi-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning, SparkVersion: version})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		declared  string
		driver    lifecycle.Driver
		executors []lifecycle.Executor
		want      string // the version that the image runs
	}{
		{"the declared version", "4.1.4", driver("4.1.4", ""), executors("4.1.4"), ""},
		{"another patch version", "4.1.0", driver("4.1.0", ""), executors("4.1.4"), ""},
		{"only a release line is declared", "4.1", driver("4.1", ""), executors("4.1.4"), ""},
		{"another release line", "3.5.0", driver("3.5.0", ""), executors("4.1.4"), "4.1.4"},
		{"the declared version is not a version", "latest", driver("4.3.0", ""), executors("4.1.4"), "4.1.4"},
		{"a driver that the operator created", "3.5.0", driver("4.1.4", ""), nil, ""},
		{"a driver that spark-submit created", "3.5.0", driver("4.1.4", "pi-submit"), nil, "4.1.4"},
		{"an executor and a driver that differ", "3.5.0", driver("3.5.0", "pi-submit"), executors("4.1.4"), "4.1.4"},
		{"pods without a version", "3.5.0", driver("", ""), executors(""), ""},
		{"the first executor with a version", "3.5.0", driver("", ""), executors("", "x", "4.2.1"), "4.2.1"},
		{"an executor of another attempt", "3.5.0", driver("", ""), []lifecycle.Executor{{Name: "e", Attempt: 2, SparkVersion: "4.1.4"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sample(func(a *v1beta2.SparkApplication) { a.Spec.SparkVersion = c.declared })
			seen := lifecycle.Observed{Drivers: []lifecycle.Driver{c.driver}, Executors: c.executors}

			got := versionMismatch(app, in(lifecycle.Running), seen)
			if correct := strings.Contains(got, "runs Spark "+c.want+";") && strings.Contains(got, `"`+c.declared+`"`); correct != (c.want != "") || c.want == "" && got != "" {
				t.Errorf("said %q, want it of %q", got, c.want)
			}
		})
	}
}

// TestVersionMismatchIsToldOnce checks that one event reports the mismatch when the first executor shows it, and that
// the condition remains until the attempt ends.
func TestVersionMismatchIsToldOnce(t *testing.T) {
	app := sample(func(a *v1beta2.SparkApplication) {
		a.Spec.SparkVersion = "3.5.0"
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyAlways}
	})
	now := t0
	step := func(seen lifecycle.Observed) (reported []string) {
		t.Helper()

		now = now.Add(time.Minute)
		for _, e := range Events(app, usual.Decide(app, seen, now)) {
			if e.Reason == ConditionSparkVersionMismatch {
				reported = append(reported, e.Type)
			}
		}

		roundTrip(t, &app.Status)
		return reported
	}
	holds := func() bool { return meta.IsStatusConditionTrue(app.Status.Conditions, ConditionSparkVersionMismatch) }

	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, SparkVersion: "3.5.0"}
	alone := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}
	executor := lifecycle.Executor{Name: "pi-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning, SparkVersion: "4.1.4"}
	both := lifecycle.Observed{Drivers: alone.Drivers, Executors: []lifecycle.Executor{executor}}

	step(lifecycle.Observed{})

	if reported := step(alone); len(reported) > 0 || holds() {
		t.Errorf("before any executor: events %v, condition %v", reported, holds())
	}

	if diff := cmp.Diff([]string{"Warning"}, step(both)); diff != "" || !holds() {
		t.Errorf("with the first executor: holds %v, events (-want +got):\n%s", holds(), diff)
	}

	for _, seen := range []lifecycle.Observed{both, alone, both} {
		if reported := step(seen); len(reported) > 0 || !holds() {
			t.Errorf("later: events %v, condition %v", reported, holds())
		}
	}
	// The next attempt is another run. Its mismatch is reported too, but only when one of its pods shows the version.
	app.Spec.SparkVersion = "3.5.1"

	step(lifecycle.Observed{Confirmed: true})

	if holds() || app.Status.Operator.Attempt != 2 {
		t.Errorf("in attempt %d it holds: %v", app.Status.Operator.Attempt, holds())
	}

	both.Drivers[0].Attempt, both.Executors[0].Attempt = 2, 2
	if reported := step(both); len(reported) != 1 || !holds() {
		t.Errorf("in the next attempt: events %v, condition %v", reported, holds())
	}
}
