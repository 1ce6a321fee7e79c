package screen

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestShortIsKubectlsFormat checks the units and the precision of a duration, which are those of kubectl get.
func TestShortIsKubectlsFormat(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 1999 * time.Millisecond: "1s", 90 * time.Second: "90s", 2 * time.Minute: "2m", 150 * time.Second: "2m30s",
		10*time.Minute + 30*time.Second: "10m", 2 * time.Hour: "120m", 3*time.Hour + 20*time.Minute: "3h20m", 9*time.Hour + 20*time.Minute: "9h",
		3*day + 4*time.Hour: "3d4h", 30*day + time.Hour: "30d",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

// TestWhatNextIsASentence checks the words for each action that a state machine may request.
func TestWhatNextIsASentence(t *testing.T) {
	for action, want := range map[lifecycle.Action]string{
		{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}:  "the operator creates the driver pod and its objects for attempt 2",
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget}:            "the operator creates the driver's PodDisruptionBudget",
		{Verb: lifecycle.Create, Part: lifecycle.DriverObjects}:           "the operator creates the deleted objects of the driver",
		{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: "a"}: "the operator creates the run a",
		{Verb: lifecycle.Delete, Part: lifecycle.DriverBudget}:            "the operator deletes the driver's PodDisruptionBudget",
		{Verb: lifecycle.Delete, Part: lifecycle.Attempt}:                 "the operator deletes the objects of the attempt",
		{Verb: lifecycle.Delete, Part: lifecycle.Executors}:               "the operator deletes the executors",
		{Verb: lifecycle.Delete, Part: lifecycle.Application}:             "the operator deletes the custom resource",
		{Verb: lifecycle.Confirm, Part: lifecycle.Executors}:              "the operator checks why executors are missing",
		{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod}:              "the operator reads the driver pod from the API server",
		{Verb: lifecycle.Confirm, Part: lifecycle.Attempt}:                "the operator reads the objects of the attempt from the API server",
		{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun}:           "the operator reads the run from the API server",
	} {
		if got := whatNext(time.Now(), Zone{}, &cluster.Summary{Kind: &cluster.Kinds[0]}, lifecycle.Plan{Actions: []lifecycle.Action{action}}); got != want {
			t.Errorf("%v: %q, want %q", action, got, want)
		}
	}
}

// TestAge checks the age of an object, also of an object that has no time or whose time is in the future.
func TestAge(t *testing.T) {
	for at, want := range map[time.Time]string{{}: "-", time.Now().Add(time.Hour): "0s", time.Now().Add(-90*time.Minute - time.Second): "90m"} {
		if got := Age(at); got != want {
			t.Errorf("the age since %s is %s, want %s", at, got, want)
		}
	}
}
