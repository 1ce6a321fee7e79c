package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// instant returns a time with the precision of a status.
func instant(seconds int64) time.Time { return time.Unix(seconds, 123_456_000).UTC() }

// fullMemory returns a memory in which every field that EncodeMemory stores has a value of its own.
func fullMemory() lifecycle.Memory {
	return lifecycle.Memory{
		Phase: lifecycle.Waiting, Since: instant(1), Attempt: 7, SpecHash: "3:abc", RestartRequest: "r",
		SuspendedRuns: 2, SubmittedAt: instant(2),
		UngatedAt: instant(3), EndedAt: instant(4), NextAttempt: instant(5), ShortSince: instant(6),
		FailedExecutorCreatedAt: instant(7), Outcome: lifecycle.Failed,
		Cause: lifecycle.Cause{Reason: "OOMKilled", Message: "more memory"},
	}
}

// throughJSON returns a status as the API server returns it after it was written.
func throughJSON(t *testing.T, o *statusv1.OperatorStatus) *statusv1.OperatorStatus {
	t.Helper()

	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	stored := &statusv1.OperatorStatus{}
	if err := json.Unmarshal(text, stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// TestMemoryIsStored checks that a memory does not change when it is stored and read again.
func TestMemoryIsStored(t *testing.T) {
	for name, memory := range map[string]lifecycle.Memory{
		"every value": fullMemory(), "no value": {}, "a reason alone": {Cause: lifecycle.Cause{Reason: "R"}},
		"a message alone": {Cause: lifecycle.Cause{Message: "m"}},
	} {
		status := &statusv1.OperatorStatus{}
		EncodeMemory(status, memory)
		var got lifecycle.Memory
		DecodeMemory(&got, throughJSON(t, status))

		if diff := cmp.Diff(memory, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMemoryReplacesTheStoredOne checks that no value of an earlier memory stays in a status, and that values of other
// functions do.
func TestMemoryReplacesTheStoredOne(t *testing.T) {
	status := &statusv1.OperatorStatus{
		Defaults: &statusv1.OperatorDefaults{Version: "v"}, Executors: &statusv1.OperatorExecutors{Seen: "1"},
		History: []statusv1.OperatorTransition{{Phase: "Launched"}},
	}
	want := status.DeepCopy()
	EncodeMemory(status, fullMemory())
	EncodeMemory(status, lifecycle.Memory{})

	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOnlyHashesWithAVersionAreStored checks that a hash without a version is not stored. Such a hash could later be
// taken for a hash of version 0, and the application would count as edited.
func TestOnlyHashesWithAVersionAreStored(t *testing.T) {
	for hash, want := range map[string]string{"3:abc": "3:abc", "1:a:b": "1:a:b", "abc": "", ":abc": "", "x:abc": "",
		"99999999999:abc": "", "3:": "", "": ""} {
		status := &statusv1.OperatorStatus{SpecHash: "before", HashVersion: 9}
		EncodeMemory(status, lifecycle.Memory{SpecHash: hash})

		var got lifecycle.Memory
		if DecodeMemory(&got, status); got.SpecHash != want {
			t.Errorf("%q is read as %q, want %q", hash, got.SpecHash, want)
		}
	}
}

func TestTimesAreStoredWithMicroseconds(t *testing.T) {
	if EncodeTime(time.Time{}) != nil || !DecodeTime(nil).IsZero() {
		t.Error("the zero time is stored as a time")
	}

	at := time.Date(2026, 5, 4, 5, 2, 1, 123_456_000, time.FixedZone("east", 2*3600))

	stored, err := json.Marshal(EncodeTime(at))
	if err != nil {
		t.Fatal(err)
	}

	if want := `"2026-05-04T03:02:01.123456Z"`; string(stored) != want {
		t.Errorf("stored is %s, want %s", stored, want)
	}

	var read metav1.MicroTime
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}

	if got := DecodeTime(&read); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("read is %s", got)
	}
}

// TestHistoryKeepsTheNewestTransitions checks the limit of the history, and which reason an entry has.
func TestHistoryKeepsTheNewestTransitions(t *testing.T) {
	for _, c := range []struct{ old, added, first, want int }{{0, 0, 0, 0}, {0, 3, 0, 3}, {18, 2, 0, 20},
		{20, 1, 1, 20}, {20, 0, 0, 20}, {25, 0, 5, 20}, {3, 40, 23, 20}} {
		var history []statusv1.OperatorTransition
		for i := range c.old {
			history = append(history, statusv1.OperatorTransition{Phase: fmt.Sprint(i)})
		}

		before := slices.Clone(history)

		var trail []lifecycle.Transition
		for i := range c.added {
			trail = append(trail, lifecycle.Transition{To: lifecycle.Phase(fmt.Sprint(c.old + i))})
		}

		got := History(history, trail)
		for i, entry := range got {
			if entry.Phase != fmt.Sprint(c.first+i) {
				t.Errorf("%d and %d: entry %d is %s, want %d", c.old, c.added, i, entry.Phase, c.first+i)
			}
		}

		if diff := cmp.Diff(before, history); diff != "" || len(got) != c.want {
			t.Errorf("%d and %d: %d entries, want %d; the old history (-want +got):\n%s", c.old, c.added, len(got),
				c.want, diff)
		}
	}

	got := History(nil, []lifecycle.Transition{
		{From: lifecycle.Started, To: lifecycle.Ended, Attempt: 2, Outcome: lifecycle.Failed,
			Cause: lifecycle.Cause{Reason: "OOMKilled", Message: "m"}, At: instant(9)},
		{To: lifecycle.Done, Attempt: 2, Outcome: lifecycle.Failed}, {To: lifecycle.Launched, Attempt: 3},
	})

	want := []statusv1.OperatorTransition{
		{Phase: "Ended", At: new(metav1.NewMicroTime(instant(9))), Attempt: 2, Reason: "OOMKilled"},
		{Phase: "Done", Attempt: 2, Reason: "Failed"}, {Phase: "Launched", Attempt: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
