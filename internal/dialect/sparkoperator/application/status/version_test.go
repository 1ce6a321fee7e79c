package status

import (
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

func TestVersionMismatch(t *testing.T) {
	driver := func(version, submitter string) lifecycle.Driver {
		return lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true,
			CreatedAt: sparkapp.T0, SparkVersion: version, Submitter: submitter}
	}

	executors := func(versions ...string) (all []lifecycle.Executor) {
		for _, version := range versions {
			all = append(all, lifecycle.Executor{Name: "pi-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning,
				SparkVersion: version})
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
		{"an executor of another attempt", "3.5.0", driver("", ""),
			[]lifecycle.Executor{{Name: "e", Attempt: 2, SparkVersion: "4.1.4"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.SparkVersion = c.declared })
			seen := lifecycle.Observed{Drivers: []lifecycle.Driver{c.driver}, Executors: c.executors}

			got := versionMismatch(app, sparkapp.In(lifecycle.Running), seen)
			if correct := strings.Contains(got, "runs Spark "+c.want+";") &&
				strings.Contains(got, `"`+c.declared+`"`); correct != (c.want != "") || c.want == "" && got != "" {
				t.Errorf("said %q, want it of %q", got, c.want)
			}
		})
	}
}
