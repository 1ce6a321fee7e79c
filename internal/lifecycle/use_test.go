package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func needing(cpu, memory string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

// TestEffectiveRequests checks what the scheduler reserves for a pod.
func TestEffectiveRequests(t *testing.T) {
	t.Parallel()

	sidecar := needing("100m", "64Mi")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	withGPU := needing("1", "1Gi")
	withGPU.Resources.Requests["nvidia.com/gpu"], withGPU.Resources.Requests["example.com/fpga"] = resource.MustParse("2"), resource.MustParse("9")

	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want Requests
	}{
		"nothing":        {corev1.PodSpec{Containers: []corev1.Container{{}}}, Requests{}},
		"two containers": {corev1.PodSpec{Containers: []corev1.Container{needing("1", "1408Mi"), needing("250m", "1G")}}, Requests{MilliCPU: 1250, MiB: 2362}},
		"GPUs":           {corev1.PodSpec{Containers: []corev1.Container{withGPU}}, Requests{MilliCPU: 1000, MiB: 1024, GPUs: 2}},
		"a larger init container": {corev1.PodSpec{
			InitContainers: []corev1.Container{needing("4", "10Mi")}, Containers: []corev1.Container{needing("1", "1Gi")},
		}, Requests{MilliCPU: 4000, MiB: 1024}},
		"an init container beside a sidecar": {corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar, needing("4", "10Mi")}, Containers: []corev1.Container{needing("1", "1Gi")},
		}, Requests{MilliCPU: 4100, MiB: 1088}},
		"overhead": {corev1.PodSpec{
			Containers: []corev1.Container{needing("1", "1Gi")}, Overhead: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("120Mi")},
		}, Requests{MilliCPU: 1000, MiB: 1144}},
		"of the whole pod": {corev1.PodSpec{
			Containers: []corev1.Container{withGPU}, Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}, Requests{MilliCPU: 3000, MiB: 1024, GPUs: 2}},
		"out of bounds": {corev1.PodSpec{Containers: []corev1.Container{needing("-1", "16Ei")}}, Requests{MiB: 1 << 40}},
	} {
		if diff := cmp.Diff(test.want, EffectiveRequests(&corev1.Pod{Spec: test.spec})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUse checks from when until when a pod uses its requests.
func TestUse(t *testing.T) {
	t.Parallel()

	at := func(second int64) metav1.Time { return metav1.Unix(second, 0) }
	scheduled := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(100)}}
	ended := func(second int64) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(second)}}}
	}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}

	disrupted := append([]corev1.PodCondition{{Type: corev1.DisruptionTarget, LastTransitionTime: at(117)}}, scheduled...)

	for name, test := range map[string]struct {
		status      corev1.PodStatus
		from, until int64
	}{
		"without a node":  {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: at(99)}}}, 0, 0},
		"image is pulled": {corev1.PodStatus{Conditions: scheduled}, 100, 0},
		"running":         {corev1.PodStatus{Conditions: scheduled, ContainerStatuses: []corev1.ContainerStatus{running}}, 100, 0},
		"sidecar runs":    {corev1.PodStatus{Conditions: scheduled, ContainerStatuses: []corev1.ContainerStatus{ended(130), running}}, 100, 0},
		"ended": {corev1.PodStatus{
			Phase: corev1.PodFailed, Conditions: scheduled, ContainerStatuses: []corev1.ContainerStatus{ended(130), ended(125)},
		}, 100, 130},
		"a container is about to restart": {corev1.PodStatus{Phase: corev1.PodRunning, Conditions: scheduled, ContainerStatuses: []corev1.ContainerStatus{ended(130)}}, 100, 0},
		"evicted before its start":        {corev1.PodStatus{Phase: corev1.PodFailed, Conditions: disrupted}, 100, 117},
		"node lost": {corev1.PodStatus{
			Phase: corev1.PodFailed, Conditions: disrupted,
			InitContainerStatuses: []corev1.ContainerStatus{ended(103)}, ContainerStatuses: []corev1.ContainerStatus{running},
		}, 100, 117},
		"end of a container unknown": {corev1.PodStatus{
			Phase: corev1.PodFailed, Conditions: disrupted, ContainerStatuses: []corev1.ContainerStatus{
				ended(103), {State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137}}},
			},
		}, 100, 117},
		"clock of the node is behind": {corev1.PodStatus{Phase: corev1.PodSucceeded, Conditions: scheduled, ContainerStatuses: []corev1.ContainerStatus{ended(90)}}, 100, 100},
	} {
		got := Use(&corev1.Pod{Status: test.status})
		if got.From != test.from || got.Until != test.until {
			t.Errorf("%s: from %d until %d, want %d and %d", name, got.From, got.Until, test.from, test.until)
		}
	}

	gone := PodUse{From: 100}.GoneAt(time.Unix(140, 999))
	if gone.Until != 140 || (PodUse{From: 100, Until: 120}.GoneAt(time.Unix(140, 0)).Until != 120) || (PodUse{}.GoneAt(time.Unix(1, 0)) != PodUse{}) {
		t.Errorf("a pod that is gone: %+v", gone)
	}
}
