package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// memberPod returns a worker pod of a StatefulSet in the given phase and with the given changes.
func memberPod(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := podIn(phase, func(pod *corev1.Pod) {
		pod.Name, pod.Labels[roleLabel] = "c-worker-1", "worker"
		pod.Annotations = map[string]string{SpecHashAnnotation: "abc"}
		pod.Spec.Containers = []corev1.Container{{Name: "worker"}, {Name: "sidecar"}}
	})
	for _, c := range change {
		c(pod)
	}
	return pod
}

func running(name string) func(*corev1.Pod) {
	return state(name, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}})
}

func TestMemberFacts(t *testing.T) {
	ready := condition(corev1.PodReady, corev1.ConditionTrue, "", "")
	crashed := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "worker", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
				Reason: "Error", Message: "Exception: no master"}},
		})
	}
	lost := []func(*corev1.Pod){running("worker"), condition(corev1.PodReady, corev1.ConditionFalse, "", ""),
		condition(corev1.ContainersReady, corev1.ConditionTrue, "", "")}

	base := Member{Name: "c-worker-1", Role: Worker, Phase: DriverRunning, CreatedAt: noon, Generation: "abc"}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want func(*Member)
	}{
		{"ready", memberPod(corev1.PodRunning, running("worker"), running("sidecar"), ready),
			func(m *Member) { m.Ready = true }},
		{"runs, not ready", memberPod(corev1.PodRunning, running("worker")), func(*Member) {}},
		{"of another operator", memberPod(corev1.PodRunning, running("worker"),
			func(pod *corev1.Pod) { pod.Annotations = nil }),
			func(m *Member) { m.Generation = "" }},
		{"going", memberPod(corev1.PodRunning, running("worker"), ready, deleted),
			func(m *Member) { m.Ready, m.Deleting = true, true }},
		{"no node", memberPod(corev1.PodPending,
			condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/3 nodes")),
			func(m *Member) { m.Phase, m.Why = DriverPending, Cause{Reason: "Unschedulable", Message: "0/3 nodes"} }},
		{"ends again and again", memberPod(corev1.PodRunning, crashed), func(m *Member) {
			m.Phase = DriverPending
			m.Why = Cause{Reason: "CrashLoopBackOff",
				Message: "container worker: back-off 10s: worker container failed with exit code 1: Exception: no master"}
		}},
		{"ended just now", memberPod(corev1.PodRunning,
			state("worker", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137,
				Reason: "OOMKilled"}})),
			func(m *Member) {
				m.Phase, m.Why = DriverFailed,
					Cause{Reason: "OOMKilled", Message: "worker container failed with exit code 137 (SIGKILL), OOMKilled: it used more memory than its limit"}
			}},
		{"a sidecar ended", memberPod(corev1.PodRunning, running("worker"),
			state("sidecar", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}})),
			func(*Member) {}},
		{"evicted", memberPod(corev1.PodFailed, saying("Evicted", "low on memory")), func(m *Member) {
			m.Phase, m.Why = DriverFailed,
				Cause{Reason: ReasonEvicted,
					Message: "worker pod failed; the status of its container is missing: low on memory"}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := base
			tc.want(&want)

			if diff := cmp.Diff(want, MemberFacts(tc.pod), withoutAdvice); diff != "" {
				t.Error(diff)
			}
		})
	}

	m := MemberFacts(memberPod(corev1.PodRunning, lost...))
	if m.Phase != DriverUnknown || m.Ready || m.Why.Reason != ReasonNodeLost ||
		!strings.Contains(m.Why.Message, "node-1") {
		t.Errorf("on a lost node: %+v", m)
	}
}
