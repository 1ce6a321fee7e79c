package apply

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestStoppingDriverKeepsNoService checks how long the operator waits before it creates the objects of a live driver
// again. Spark deletes the driver's Service when it stops, so every normal end was reported as the deletion of a
// Service.
func TestStoppingDriverKeepsNoService(t *testing.T) {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "u"}}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type pass struct {
		at       time.Duration // the objects are missing at this time
		attempt  int32
		stopping bool
	}
	for name, passes := range map[string][]pass{
		"a driver that stops":             {{0, 1, true}, {time.Second, 1, true}, {lifecycle.StopDuration - 1, 1, true}},
		"objects that somebody deleted":   {{0, 1, true}, {lifecycle.StopDuration, 1, false}, {lifecycle.StopDuration + 1, 1, false}},
		"the driver of another attempt":   {{0, 1, true}, {lifecycle.StopDuration, 2, true}, {2 * lifecycle.StopDuration, 2, false}},
		"objects that came back and went": {{0, 1, true}, {time.Hour, 1, true}, {time.Hour + lifecycle.StopDuration, 1, false}},
	} {
		t.Run(name, func(t *testing.T) {
			a := Applier{Replies: new(apianswer.Replies)}
			for _, p := range passes {
				view := dependents.View{Owner: app, Now: begin.Add(p.at)}
				action := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.DriverObjects, Attempt: p.attempt}
				if got := a.mayBeStopping(view, action); got != p.stopping {
					t.Errorf("after %s: may be stopping %t, want %t", p.at, got, p.stopping)
				}
			}
		})
	}
}
