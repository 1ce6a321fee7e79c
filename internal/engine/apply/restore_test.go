package apply

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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
		"a driver that stops": {{0, 1, true}, {time.Second, 1, true}, {lifecycle.StopDuration - 1, 1, true}},
		"objects that somebody deleted": {{0, 1, true}, {lifecycle.StopDuration, 1, false},
			{lifecycle.StopDuration + 1, 1, false}},
		"the driver of another attempt": {{0, 1, true}, {lifecycle.StopDuration, 2, true},
			{2 * lifecycle.StopDuration, 2, false}},
		"objects whose creation is rejected": {
			{0, 1, true}, {lifecycle.StopDuration, 1, false}, {30 * time.Second, 1, false},
			{90 * time.Second, 1, false}, {150 * time.Second, 1, false},
		},
		"objects that came back and went": {{0, 1, true}, {time.Hour, 1, true},
			{time.Hour + lifecycle.StopDuration, 1, false}},
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

// TestRepeatedRejections checks that a rejection that lasts is queried again less and less often, that an edit queries
// it at once, and that it is forgotten when it ends.
func TestRepeatedRejections(t *testing.T) {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "u",
		Generation: 1}}
	a, tries := Applier{Replies: new(apianswer.Replies)}, 0
	quota := lifecycle.Cause{Reason: lifecycle.ReasonQuota, Message: "exceeded"}

	pass := func(at time.Duration) {
		t.Helper()

		view := dependents.View{Owner: app, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)}
		outcome, err := a.remembered(view,
			lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}, func() (Outcome, error) {
				tries++
				return Outcome{Fact: RejectionFact(quota)}, nil
			})
		var seen lifecycle.Observed

		if err != nil || outcome.Fact == nil {
			t.Fatalf("after %s: no rejection, error %v", at, err)
		}

		if outcome.Fact(&seen); seen.Rejection == nil || seen.Rejection.Reason != quota.Reason {
			t.Fatalf("after %s: %v", at, seen.Rejection)
		}
	}
	for at := time.Duration(0); at < time.Hour; at += time.Second {
		pass(at)
	}

	if tries < 60 || tries > 100 {
		t.Errorf("%d creations in an hour, want 60 to 100", tries)
	}

	before := tries
	app.Generation = 2

	if pass(time.Hour); tries != before+1 {
		t.Error("an edit waits for the interval")
	}
}
