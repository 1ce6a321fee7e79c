package status

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// MaxSnapshot is the maximum size, in bytes, of the driver pod's status in an entry of the history. maxText is the
// maximum size, in bytes, of each message in this pod status.
const (
	MaxSnapshot = 8 << 10
	maxText     = 512
)

// snapshot returns the driver pod's status in the form in which the history stores it. It contains the fields that the
// cache keeps, without null values (such as a condition's lastProbeTime), because the CRD of the Apache Spark project's
// operator does not allow null values. If the result is too large, snapshot drops its least useful parts.
func snapshot(status *corev1.PodStatus) *runtime.RawExtension {
	if status == nil {
		return nil
	}

	kept := corev1.PodStatus{
		Phase: status.Phase, Reason: status.Reason, Message: boundedText(status.Message), StartTime: status.StartTime,
		Conditions: snapshotConditions(status.Conditions), ContainerStatuses: snapshotContainers(status.ContainerStatuses),
		InitContainerStatuses: snapshotContainers(status.InitContainerStatuses),
	}

	text := withoutNulls(kept)
	for _, less := range []func(){
		func() { kept.Conditions = nil },
		func() { kept.InitContainerStatuses = nil },
		func() { kept.ContainerStatuses = nil },
	} {
		if len(text) <= MaxSnapshot {
			break
		}

		less()

		text = withoutNulls(kept)
	}

	if len(text) == 0 {
		return nil
	}
	return &runtime.RawExtension{Raw: text}
}

func snapshotConditions(all []corev1.PodCondition) (out []corev1.PodCondition) {
	for _, c := range all {
		c.Message = boundedText(c.Message)
		out = append(out, c)
	}
	return out
}

// snapshotContainers returns container statuses without the fields that only a kubelet needs.
func snapshotContainers(all []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
	for _, c := range all {
		out = append(out, corev1.ContainerStatus{
			Name: c.Name, State: snapshotState(c.State), LastTerminationState: snapshotState(c.LastTerminationState),
			Ready: c.Ready, RestartCount: c.RestartCount, Image: c.Image, Started: c.Started,
		})
	}
	return out
}

func snapshotState(state corev1.ContainerState) corev1.ContainerState {
	state = *state.DeepCopy()
	if state.Waiting != nil {
		state.Waiting.Message = boundedText(state.Waiting.Message)
	}

	if state.Terminated != nil {
		state.Terminated.Message, state.Terminated.ContainerID = boundedText(state.Terminated.Message), ""
	}
	return state
}

func boundedText(text string) string { return lifecycle.Cut(text, maxText) }

// withoutNulls returns a pod status as JSON without null values and without objects that contain only null values. It
// returns nil if nothing is left.
func withoutNulls(status corev1.PodStatus) []byte {
	text, err := json.Marshal(status)
	if err != nil {
		return nil // impossible: Kubernetes types marshal
	}

	var tree map[string]any
	if utiljson.Unmarshal(text, &tree) != nil || pruned(tree) == nil {
		return nil
	}

	if text, err = json.Marshal(tree); err != nil {
		return nil
	}
	return text
}

// pruned returns a copy of a JSON tree without null values and without objects that contain only null values. It
// returns nil if the result would be empty.
func pruned(in any) any {
	switch v := in.(type) {
	case map[string]any:
		for key, value := range v {
			if value = pruned(value); value == nil {
				delete(v, key)
			} else {
				v[key] = value
			}
		}

		if len(v) == 0 {
			return nil
		}
	case []any:
		var kept []any
		for _, item := range v {
			if item = pruned(item); item != nil {
				kept = append(kept, item)
			}
		}

		if kept == nil {
			return nil
		}
		return kept
	}
	return in
}
