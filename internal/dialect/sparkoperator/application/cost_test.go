package application

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// fullDialect is a dialect whose configuration enables every feature of applications.
var fullDialect = Dialect{Options{
	MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second, Batch: batch.Options{Enabled: true, Default: "volcano"},
	UI: sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{URLFormat: "{{$appName}}.example.com"},
		Route: &sparkoperator.UIRoute{URLFormat: "{{$appName}}.example.com"}},
}}

// passes makes the passes of an application's life cycle: the first pass, the launch, a pass with a running driver and
// executors, and a pass after the end.
func passes(d Dialect, app *v1beta2.SparkApplication) {
	now := sparkapp.T0

	seen := lifecycle.Observed{Confirmed: true}
	for range 2 {
		plan := d.Decide(app, seen, now)
		for _, action := range plan.Actions {
			if action.Verb == lifecycle.Create {
				_, _ = d.Render(app, action, now)
			}
		}

		d.finish(app, seen, plan, now)
	}

	_, _ = d.Executor(app, 1, 1, "uid", now)

	seen = lifecycle.Observed{Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: sparkapp.T0,
		StartedAt: sparkapp.T0, ReadyAt: sparkapp.T0, AppID: "spark-1",
	}}, RemainingAttempts: []int32{1}}
	for i := range 10 {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1",
			Phase: lifecycle.DriverRunning, CreatedAt: sparkapp.T0,
		})
	}

	d.finish(app, seen, d.Decide(app, seen, now), now)
	seen.Drivers[0].Phase, seen.Drivers[0].HasExit = lifecycle.DriverSucceeded, true
	d.finish(app, seen, d.Decide(app, seen, now), now)
}

func (d Dialect) finish(app *v1beta2.SparkApplication, seen lifecycle.Observed, plan lifecycle.Plan, now time.Time) {
	status.Events(app, plan)
	s := d.AuxiliaryObjects(app, seen)

	var states []lifecycle.AuxiliaryObject
	for _, object := range s.Objects {
		states = append(states, lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind,
			Name: object.GetName(), Current: true, Address: "10.0.0.1"})
	}

	if s.Record != nil {
		s.Record(states, now)
	}

	_, _ = json.Marshal(app.Status)
}

// TestListsOfApplicationsCostLinearTime checks that the cost of passes grows linearly with the number of items in each
// list and map of an application.
func TestListsOfApplicationsCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[v1beta2.SparkApplication]()) {
		worst.Linear(t, "SparkApplication"+field.Path, func(n int) func() {
			app := sparkapp.Sample()
			field.Fill(app, n)
			return func() { passes(fullDialect, app.DeepCopy()) }
		})
	}
}

// TestConfigurationsCostLinearTime checks that the cost of passes grows linearly with the number of configuration keys.
// There is a case for each group of keys that the operator reads.
func TestConfigurationsCostLinearTime(t *testing.T) {
	for key, value := range worst.KeyFamilies {
		worst.Linear(t, "sparkConf "+key, func(n int) func() {
			app := sparkapp.Sample()
			app.Spec.SparkConf = worst.KeysOf(key, value, n)
			return func() { passes(fullDialect, app.DeepCopy()) }
		})
	}
}

// TestTemplatesCostLinearTime checks that the cost of passes grows linearly with the length of lists in the pod
// templates of both roles.
func TestTemplatesCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[corev1.PodTemplateSpec]()) {
		worst.Linear(t, "SparkApplication template"+field.Path, func(n int) func() {
			app := sparkapp.Sample()
			template := worst.Raw[corev1.PodTemplateSpec](t, field, n)
			app.Spec.Driver.Template, app.Spec.Executor.Template = template, template
			return func() { passes(fullDialect, app.DeepCopy()) }
		})
	}
}
