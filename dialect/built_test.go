package dialect

import (
	"errors"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

func TestNextAttempt(t *testing.T) {
	for last, want := range map[int32]int32{0: 1, 1: 2, 41: 42, math.MaxInt32 - 1: math.MaxInt32, math.MaxInt32: 1} {
		if got := NextAttempt(lifecycle.Memory{Attempt: last}); got != want {
			t.Errorf("after attempt %d follows %d, want %d", last, got, want)
		}
	}
}

// TestBuiltObjectsGoToTheLaunchOfTheirAttempt checks that no other action gets the objects. A deletion, or the launch
// of another attempt, would otherwise use the objects of the wrong attempt.
func TestBuiltObjectsGoToTheLaunchOfTheirAttempt(t *testing.T) {
	actions := []lifecycle.Action{
		{Verb: lifecycle.Delete, Part: lifecycle.Submission, Attempt: 3},
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 3},
		{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2},
		{Verb: lifecycle.Confirm, Part: lifecycle.Submission, Attempt: 3},
		{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 3},
	}
	built := &Built{Attempt: 3}
	built.AttachTo(lifecycle.Plan{Actions: actions})
	for i, action := range actions {
		if got, want := action.Built != nil, i == 4; got != want {
			t.Errorf("action %d (%s %s %d): has objects is %v, want %v", i, action.Verb, action.Part, action.Attempt, got, want)
		}
	}
	if actions[4].Built != built {
		t.Errorf("the launch has %v", actions[4].Built)
	}
	var none *Built
	fresh := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission}}
	if none.AttachTo(lifecycle.Plan{Actions: fresh}); fresh[0].Built != nil {
		t.Errorf("without objects the launch has %v", fresh[0].Built)
	}
}

// TestLaunchedReusesOnlyObjectsOfTheSameLaunch checks that objects of another attempt, id or time are rendered again:
// the time of the submission and the id are part of the objects.
func TestLaunchedReusesOnlyObjectsOfTheSameLaunch(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	built := &Built{Attempt: 2, ID: "id", At: at, Objects: submit.Objects{Driver: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "built"}}}}
	for name, c := range map[string]struct {
		built   any
		attempt int32
		id      string
		at      time.Time
		want    string
	}{
		"the same launch":                  {built, 2, "id", at, "built"},
		"the same time in another zone":    {built, 2, "id", at.In(time.FixedZone("east", 3600)), "built"},
		"another attempt":                  {built, 3, "id", at, "rendered"},
		"another id":                       {built, 2, "id2", at, "rendered"},
		"another time":                     {built, 2, "id", at.Add(time.Nanosecond), "rendered"},
		"no objects":                       {nil, 2, "id", at, "rendered"},
		"objects of another kind's render": {submit.Objects{}, 2, "id", at, "rendered"},
	} {
		got, err := Launched(lifecycle.Action{Attempt: c.attempt, Built: c.built}, c.id, c.at, func() (submit.Objects, *lifecycle.Cause, error) {
			return submit.Objects{Driver: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "rendered"}}}, &lifecycle.Cause{Reason: "X"}, nil
		})
		if err != nil || got.Driver.Name != c.want {
			t.Errorf("%s: %v, %v, want %s", name, got.Driver, err, c.want)
			continue
		}
		got.Driver.Name = "changed by the caller"
		if built.Objects.Driver.Name != "built" {
			t.Fatalf("%s: the caller shares memory with the decision", name)
		}
	}
	wrong := errors.New("cannot be rendered")
	if _, err := Launched(lifecycle.Action{}, "", at, func() (submit.Objects, *lifecycle.Cause, error) { return submit.Objects{}, nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("the error is %v", err)
	}
}
