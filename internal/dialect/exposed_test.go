package dialect

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestExposed checks that the condition Exposed is True once all objects exist, even if another operator created them.
// If an object cannot be created, the condition must be False, and one event must report this.
func TestExposed(t *testing.T) {
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "ui"}}}
	wanted := []submit.Object{service}
	stands := lifecycle.AuxiliaryObject{Kind: "Service", Name: "ui", Current: true}
	left := lifecycle.AuxiliaryObject{Kind: "Service", Name: "ui",
		Cause: lifecycle.Cause{Reason: lifecycle.ReasonInherited, Message: "theirs"}}

	taken := lifecycle.AuxiliaryObject{Kind: "Service", Name: "ui",
		Cause: lifecycle.Cause{Reason: "NameTaken", Message: "not ours"}}
	for name, c := range map[string]struct {
		exposed Exposed
		states  []lifecycle.AuxiliaryObject
		status  metav1.ConditionStatus
		reason  string
		message string
		notices int
	}{
		"nothing is wanted":                 {},
		"an object that does not exist yet": {exposed: Exposed{Objects: wanted}},
		"an object that exists": {Exposed{Objects: wanted}, []lifecycle.AuxiliaryObject{stands},
			metav1.ConditionTrue, "Exposed", "", 0},
		"an inherited object": {Exposed{Objects: wanted}, []lifecycle.AuxiliaryObject{left},
			metav1.ConditionTrue, "Exposed", "", 0},
		"an object with a name that is taken": {Exposed{Objects: wanted, Live: true},
			[]lifecycle.AuxiliaryObject{taken}, metav1.ConditionFalse, "NameTaken",
			"the application continues to run; Service ui: not ours", 1},
		"an object of an application that has ended": {Exposed{Objects: wanted}, []lifecycle.AuxiliaryObject{taken},
			metav1.ConditionFalse, "NameTaken", "Service ui: not ours", 1},
		"requests that cannot be fulfilled": {Exposed{Problems: []lifecycle.Cause{{Reason: "Invalid",
			Message: "a"}, {Reason: "X", Message: "b"}}}, nil, metav1.ConditionFalse, "Invalid", "a; b", 1},
		"an object that exists, and an invalid request": {Exposed{Objects: wanted,
			Problems: []lifecycle.Cause{{Reason: "Invalid", Message: "a"}}}, []lifecycle.AuxiliaryObject{stands},
			metav1.ConditionFalse, "Invalid", "a", 1},
	} {
		var conditions []metav1.Condition

		c.exposed.Generation = 3
		for i := range 2 { // a second call must change nothing
			notices := c.exposed.Record(&conditions, c.states, time.Unix(int64(i), 0))
			if want := c.notices * (1 - i); len(notices) != want {
				t.Errorf("%s: %d events, want %d", name, len(notices), want)
			}

			got := meta.FindStatusCondition(conditions, ConditionExposed)
			if c.status == "" {
				if got != nil {
					t.Errorf("%s: %+v", name, got)
				}
				continue
			}

			if got == nil || got.Status != c.status || got.Reason != c.reason || got.Message != c.message ||
				got.ObservedGeneration != 3 || got.LastTransitionTime.Unix() != 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}

		if (Exposed{}).Record(&conditions, nil, time.Unix(9, 0)); len(conditions) > 0 {
			t.Errorf("%s: when nothing is wanted any more there is %+v", name, conditions)
		}
	}
}

// TestExposedIsBounded checks that the condition stays small enough to be stored even if the API server's answers are
// very long.
func TestExposedIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 50_000)
	for name, exposed := range map[string]struct {
		Exposed
		states []lifecycle.AuxiliaryObject
	}{
		"one long name": {Exposed: Exposed{Live: true,
			Problems: []lifecycle.Cause{{Reason: "InvalidSpec", Message: long}}}},
		"many entries": {Exposed: Exposed{Live: true,
			Problems: slices.Repeat([]lifecycle.Cause{{Reason: "InvalidSpec", Message: "is not a valid Service name"}},
				20_000)}},
		"a long rejection": {states: []lifecycle.AuxiliaryObject{{Kind: "Ingress", Name: "ui",
			Cause: lifecycle.Cause{Reason: "InvalidSpec", Message: long}}}},
		"a long second message": {Exposed: Exposed{Problems: []lifecycle.Cause{{Reason: "InvalidSpec",
			Message: "first"}, {Reason: "X", Message: long}}}},
	} {
		var conditions []metav1.Condition
		notices := exposed.Record(&conditions, exposed.states, time.Unix(0, 0))

		got := meta.FindStatusCondition(conditions, ConditionExposed)
		if got == nil || got.Reason != "InvalidSpec" || !utf8.ValidString(got.Message) ||
			!strings.HasSuffix(got.Message, "...") || len(notices) != 1 {
			t.Fatalf("%s: %d events, %+v", name, len(notices), got)
		}

		if limit := lifecycle.MaxMessage + 100; len(got.Message) > limit || len(got.Message) < lifecycle.MaxMessage/2 {
			t.Errorf("%s: the message has %d bytes, of at most %d", name, len(got.Message), limit)
		}

		if again := exposed.Record(&conditions, exposed.states, time.Unix(1, 0)); len(again) > 0 {
			t.Errorf("%s: a second call returns events", name)
		}
	}
}

// exposable returns an object of the given kind and name.
func exposable(kind, name string) submit.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name}}}
}

// TestExposedComparesKindAndName checks that an object of the same name and another kind does not count, and that of
// two objects with the same kind and name the first counts.
func TestExposedComparesKindAndName(t *testing.T) {
	wanted := []submit.Object{exposable("Service", "ui"), exposable("Ingress", "ui")}

	current := func(kind, name string, yes bool) lifecycle.AuxiliaryObject {
		return lifecycle.AuxiliaryObject{Kind: kind, Name: name, Current: yes}
	}
	for name, c := range map[string]struct {
		live []lifecycle.AuxiliaryObject
		want bool
	}{
		"both": {[]lifecycle.AuxiliaryObject{current("Ingress", "ui", true),
			current("Service", "ui", true)}, true},
		"one twice": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Service", "ui", true)}, false},
		"another name": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Ingress", "ui2", true)}, false},
		"an Ingress being created": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Ingress", "ui", false)}, false},
		"the first is current": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Ingress", "ui", true), current("Ingress", "ui", false)}, true},
		"the first is not current": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Ingress", "ui", false), current("Ingress", "ui", true)}, false},
		"more than what is wanted": {[]lifecycle.AuxiliaryObject{current("Service", "ui", true),
			current("Ingress", "ui", true), current("Service", "b", false)}, true},
		"nothing, although wanted": {nil, false},
		"two names, swapped by kind": {[]lifecycle.AuxiliaryObject{current("ui", "Service", true),
			current("ui", "Ingress", true)}, false},
	} {
		var conditions []metav1.Condition
		if events := (Exposed{Objects: wanted}).Record(&conditions, c.live, time.Unix(0, 0)); len(events) > 0 {
			t.Errorf("%s: %v", name, events)
		}

		if got := meta.IsStatusConditionTrue(conditions, ConditionExposed); got != c.want {
			t.Errorf("%s: %+v", name, conditions)
		}
	}
}

// TestExposedReportsEachChangeOnce checks which changes of the condition are worth an event, and that the arguments,
// which others read, are not changed.
func TestExposedReportsEachChangeOnce(t *testing.T) {
	exposed := Exposed{Objects: []submit.Object{exposable("Service", "ui")}, Problems: make([]lifecycle.Cause, 0, 4)}
	failing := func(reason, message string) []lifecycle.AuxiliaryObject {
		return []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "ui",
			Cause: lifecycle.Cause{Reason: reason, Message: message}}}
	}

	conditions := []metav1.Condition{{Type: "Theirs", Status: "True"}}
	for i, c := range []struct {
		live []lifecycle.AuxiliaryObject
		want string // the event
	}{
		{failing("Forbidden", "a"), "Warning Forbidden: Service ui: a"},
		{failing("Forbidden", "a"), ""},
		{failing("Forbidden", "b"), "Warning Forbidden: Service ui: b"},
		{failing("Invalid", "b"), "Warning Invalid: Service ui: b"},
		{[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "ui", Current: true}}, ""},
		{failing("Invalid", "b"), "Warning Invalid: Service ui: b"},
		{failing("LeftByAnotherOperator", "c"), ""},
	} {
		before := slices.Clone(c.live)

		got := ""
		for _, event := range exposed.Record(&conditions, c.live, time.Unix(int64(i), 0)) {
			got += event.Type + " " + event.Reason + ": " + event.Message
		}

		if got != c.want {
			t.Errorf("step %d: %q, want %q", i, got, c.want)
		}

		if !slices.Equal(before, c.live) || exposed.Problems[:1][0] != (lifecycle.Cause{}) {
			t.Errorf("step %d: the arguments are %v and %v", i, c.live, exposed.Problems[:1])
		}
	}

	if len(conditions) != 2 || conditions[0].Type != "Theirs" {
		t.Errorf("the conditions are %+v", conditions)
	}
}

func TestFindObject(t *testing.T) {
	live := []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "a"}, {Kind: "Ingress", Name: "b", Address: "first"},
		{Kind: "Ingress", Name: "b", Address: "second"}}
	if got := FindObject(live, "Ingress", "b"); got != &live[1] {
		t.Errorf("the Ingress is %v", got)
	}

	for _, missing := range [][2]string{{"Ingress", "a"}, {"Service", "b"}, {"", ""}} {
		if got := FindObject(live, missing[0], missing[1]); got != nil {
			t.Errorf("%v is %v", missing, got)
		}
	}
}
