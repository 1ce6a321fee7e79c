package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestSnapshot checks that the snapshot of a large pod status lacks the least useful parts and is still JSON without
// null values.
func TestSnapshot(t *testing.T) {
	if snapshot(nil) != nil || snapshot(&corev1.PodStatus{}) != nil {
		t.Error("the snapshot of an empty pod status is not nil")
	}

	long := strings.Repeat("é", 5000)

	status := corev1.PodStatus{Phase: corev1.PodFailed, Message: long, PodIP: "10.0.0.1"}
	for i := range 100 {
		status.Conditions = append(status.Conditions,
			corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("C", i)), Message: long})
		status.ContainerStatuses = append(status.ContainerStatuses,
			corev1.ContainerStatus{Name: fmt.Sprint("c", i), ContainerID: long,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: long,
					ContainerID: long}}})
	}

	before := status.DeepCopy()
	for _, few := range []int{1, 10, 100} {
		cutDown := *before.DeepCopy()
		cutDown.Conditions, cutDown.ContainerStatuses = cutDown.Conditions[:few], cutDown.ContainerStatuses[:few]
		got := snapshot(&cutDown)

		var read corev1.PodStatus
		if err := json.Unmarshal(got.Raw, &read); err != nil || len(got.Raw) > MaxSnapshot ||
			strings.Contains(string(got.Raw), "null") {
			t.Errorf("of %d containers: %d bytes, %v", few, len(got.Raw), err)
		}

		if read.Phase != corev1.PodFailed || read.Message == "" || read.PodIP != "" || few == 1 &&
			(len(read.ContainerStatuses) != 1 || len(read.Conditions) != 1) {
			t.Errorf("of %d containers: %s", few, got.Raw)
		}
	}

	if diff := cmp.Diff(before, &status); diff != "" {
		t.Errorf("what was read was changed:\n%s", diff)
	}
}

// TestSnapshotsCutEveryMessage checks that each text of a pod's status that somebody else writes is cut, and that ids
// of containers are left out.
func TestSnapshotsCutEveryMessage(t *testing.T) {
	long := strings.Repeat("x", 600)
	state := func() corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Message: long},
			Terminated: &corev1.ContainerStateTerminated{Message: long, ContainerID: "secret-id"}}
	}
	container := corev1.ContainerStatus{Name: "c", ContainerID: "secret-id", ImageID: "secret-id", State: state(),
		LastTerminationState: state()}

	text := string(snapshot(&corev1.PodStatus{Message: long,
		Conditions:            []corev1.PodCondition{{Type: "T", Message: long}},
		ContainerStatuses:     []corev1.ContainerStatus{container},
		InitContainerStatuses: []corev1.ContainerStatus{container}}).Raw)
	if strings.Contains(text, long) || strings.Count(text, strings.Repeat("x", 512)+`..."`) != 10 ||
		strings.Contains(text, "secret-id") {
		t.Errorf("%d messages are cut: %s", strings.Count(text, `..."`), text)
	}
}
