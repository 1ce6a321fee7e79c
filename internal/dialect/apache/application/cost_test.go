package application

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// passes runs four passes of an application's life cycle: the first pass, the launch, a pass with running pods, and a
// pass after the end.
func passes(a Applications, app *sparkv1.SparkApplication) {
	now, seen := t0, lifecycle.Observed{Confirmed: true}
	for range 2 {
		plan := a.Decide(app, seen, now)
		for _, action := range plan.Actions {
			if action.Verb == lifecycle.Create {
				_, _ = a.Render(app, action, now)
			}
		}

		tell(a, app, plan, now)
	}

	_, _ = a.Executor(app, 1, 1, "uid", now)
	seen = lifecycle.Observed{RemainingAttempts: []int32{1}, Executors: executors(1, 10), Drivers: []lifecycle.Driver{{
		Name: "pi-0-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, StartedAt: t0,
		ReadyAt: t0, AppID: "pi-0",
	}}}
	tell(a, app, a.Decide(app, seen, now), now)
	seen.Drivers[0].Phase, seen.Drivers[0].HasExit = lifecycle.DriverSucceeded, true
	tell(a, app, a.Decide(app, seen, now), now)
}

func tell(a Applications, app *sparkv1.SparkApplication, plan lifecycle.Plan, now time.Time) {
	Events(plan)

	if s := a.AuxiliaryObjects(app); s.Record != nil {
		s.Record(standing(s.Objects), now)
	}

	_, _ = json.Marshal(app.Status)
}

func standing[T interface {
	GetName() string
	runtime.Object
}](objects []T) (states []lifecycle.AuxiliaryObject) {
	for _, object := range objects {
		states = append(states, lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind,
			Name: object.GetName(), Current: true})
	}
	return states
}

// TestListsOfApplicationsCostLinearTime checks that the cost of an application grows linearly with the number of items
// in each list and map.
func TestListsOfApplicationsCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[sparkv1.SparkApplication]()) {
		worst.Linear(t, field.Path, func(n int) func() {
			app := pi()
			field.Fill(app, n)
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}

	for _, field := range worst.Fields(reflect.TypeFor[corev1.PodTemplateSpec]()) {
		worst.Linear(t, "template"+field.Path, func(n int) func() {
			template := &sparkv1.PodTemplate{PodTemplateSpec: worst.Raw[corev1.PodTemplateSpec](t, field, n)}
			app := pi(func(app *sparkv1.SparkApplication) {
				app.Spec.DriverSpec, app.Spec.ExecutorSpec = template,
					template
			})
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}
}

// entriesOf returns n entries that expose a driver. If own is true, each entry has its own Service; if it is false, all
// entries share one Service.
func entriesOf(n int, own bool) (all []sparkv1.DriverServiceIngress) {
	for i := range n {
		name := "ui"
		if own {
			name = fmt.Sprint("ui-", i)
		}

		all = append(all, sparkv1.DriverServiceIngress{
			ServiceMetadata: sparkv1.ObjectMetadata{Name: name},
			ServiceSpec:     &runtime.RawExtension{Raw: []byte(`{"ports":[{"port":4040}]}`)},
			IngressMetadata: sparkv1.ObjectMetadata{Name: fmt.Sprint("ui-", i)},
			IngressSpec:     &runtime.RawExtension{Raw: []byte(`{}`)},
		})
	}
	return all
}

// TestExposedEntriesCostLinearTime checks that the cost of exposing a driver grows linearly with the number of valid or
// conflicting entries. In an earlier version, 10,000 entries took 72 s in every pass.
func TestExposedEntriesCostLinearTime(t *testing.T) {
	for name, change := range map[string]func([]sparkv1.DriverServiceIngress){
		"valid":        func([]sparkv1.DriverServiceIngress) {},
		"one conflict": func(all []sparkv1.DriverServiceIngress) { all[len(all)-1].IngressMetadata.Name = "ui-0" },
		"only conflicts": func(all []sparkv1.DriverServiceIngress) {
			for i := range all {
				all[i].IngressMetadata.Name = "ui"
			}
		},
		"a long first entry": func(all []sparkv1.DriverServiceIngress) {
			all[0].ServiceSpec.Raw = []byte(fmt.Sprintf(`{"ports":[{"port":4040}],"externalIPs":["1"%s]}`,
				strings.Repeat(`,"1"`, 10*len(all))))
			for i := range all {
				all[i].ServiceMetadata.Name = "ui"
			}
		},
	} {
		for _, own := range []bool{true, false} {
			worst.Linear(t, fmt.Sprint(name, " ", own), func(n int) func() {
				app := pi(func(app *sparkv1.SparkApplication) { app.Spec.DriverServiceIngressList = entriesOf(n, own) })
				change(app.Spec.DriverServiceIngressList)
				return func() { passes(trimmed, app.DeepCopy()) }
			})
		}
	}

	for _, field := range worst.Fields(reflect.TypeFor[networkingv1.IngressSpec]()) {
		worst.Linear(t, "ingress"+field.Path, func(n int) func() {
			app := pi(func(app *sparkv1.SparkApplication) { app.Spec.DriverServiceIngressList = entriesOf(1, true) })
			app.Spec.DriverServiceIngressList[0].IngressSpec = worst.Raw[networkingv1.IngressSpec](t, field, n)
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}
}
