package connect

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestListsOfServersCostLinearTime checks that the cost of passes grows linearly with the number of items in each list
// and map of a SparkConnect.
func TestListsOfServersCostLinearTime(t *testing.T) {
	c := Connects{Options{MissingGrace: 10 * time.Second}}
	for _, field := range worst.Fields(reflect.TypeFor[v1alpha1.SparkConnect]()) {
		worst.Linear(t, "SparkConnect"+field.Path, func(n int) func() {
			sc := aConnect()
			field.Fill(sc, n)
			return func() { connectPasses(c, sc.DeepCopy()) }
		})
	}
}

func connectPasses(c Connects, sc *v1alpha1.SparkConnect) {
	now := connectBegan

	seen := lifecycle.Observed{Confirmed: true}
	for range 3 {
		plan := c.Decide(sc, seen, now)
		for _, action := range plan.Actions {
			if action.Verb == lifecycle.Create {
				_, _ = c.Render(sc, action, now)
			}
		}

		c.Events(sc, plan)
		s := c.AuxiliaryObjects(sc)

		var states []lifecycle.AuxiliaryObject
		for _, object := range s.Objects {
			states = append(states, lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind,
				Name: object.GetName(), Current: true})
		}

		if s.Record != nil {
			s.Record(states, now)
		}

		_, _ = json.Marshal(sc.Status)
		seen = lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "hub-server", Attempt: 1,
			Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: now, StartedAt: now, ReadyAt: now}}}
	}
}

// TestConfigurationsOfServersCostLinearTime checks that the cost of passes grows linearly with the number of
// configuration keys. There is a case for each group of keys that the operator reads.
func TestConfigurationsOfServersCostLinearTime(t *testing.T) {
	for key, value := range worst.KeyFamilies {
		worst.Linear(t, "sparkConf "+key, func(n int) func() {
			sc := aConnect()
			sc.Spec.SparkConf = worst.KeysOf(key, value, n)
			return func() { connectPasses(Connects{}, sc.DeepCopy()) }
		})
	}
}

// TestTemplatesOfServersCostLinearTime checks that the cost of passes grows linearly with the length of lists in the
// pod templates of both roles.
func TestTemplatesOfServersCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[corev1.PodTemplateSpec]()) {
		worst.Linear(t, "SparkConnect template"+field.Path, func(n int) func() {
			sc := aConnect()
			template := worst.Raw[corev1.PodTemplateSpec](t, field, n)
			sc.Spec.Server.Template, sc.Spec.Executor.Template = template, template
			return func() { connectPasses(Connects{}, sc.DeepCopy()) }
		})
	}
}
