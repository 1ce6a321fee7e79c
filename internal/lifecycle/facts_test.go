package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// withoutAdvice ignores the advice, which the tests of package cause check.
var withoutAdvice = cmpopts.IgnoreFields(Cause{}, "Advice")

const container = "spark-kubernetes-driver"

var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	start = metav1.NewTime(noon.Add(time.Minute))
	end   = metav1.NewTime(noon.Add(time.Hour))
)

// podIn returns a driver pod of attempt 3 on a node, in the given phase and with the given changes.
func podIn(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "app-driver", UID: "pod-uid", CreationTimestamp: metav1.NewTime(noon),
			Labels: map[string]string{AttemptLabel: "3", appIDLabel: "spark-1", executorIDLabel: "7",
				versionLabel: "4.1.4"},
		},
		Spec:   corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: container}}},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func state(name string, s corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: name, Image: "spark:4.1.4", State: s})
	}
}

func runs() func(*corev1.Pod) {
	return state(container, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}})
}

func waits(reason, message string) func(*corev1.Pod) {
	return state(container, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason,
		Message: message}})
}

func exits(code int32, reason, message string) func(*corev1.Pod) {
	return state(container, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: start, FinishedAt: end,
	}})
}

// inits returns a change of a pod. It adds an init container that ended with the given exit code.
func inits(name string, code int32, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code,
				Reason: "Error", Message: message}},
		})
	}
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: start,
		})
	}
}

func saying(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Reason, pod.Status.Message = reason, message }
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = &end }

func ready(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return condition(corev1.PodReady, status, reason, "")
}

var (
	containersReady = condition(corev1.ContainersReady, corev1.ConditionTrue, "", "")
	taint           = condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager", "taint")
)

func TestDriverFacts(t *testing.T) {
	base := Driver{Name: "app-driver", UID: "pod-uid", Attempt: 3, AppID: "spark-1", CreatedAt: noon,
		SparkVersion: "4.1.4"}
	with := func(change func(*Driver)) Driver {
		d := base
		change(&d)
		return d
	}
	ran := func(d *Driver) { d.StartedAt = start.Time }
	lost := func(d *Driver) {
		d.Phase, d.NodeLostSince = DriverUnknown, start.Time
		d.Why = Cause{Reason: ReasonNodeLost,
			Message: "node node-1 of driver pod app-driver does not answer; the operator waits until the node answers or the pod is gone"}
	}

	over := func(d *Driver, code int32) {
		ran(d)
		d.EndedAt, d.ExitCode, d.HasExit = end.Time, code, true
	}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want Driver
	}{
		{"just made", podIn(corev1.PodPending), with(func(d *Driver) { d.Phase = DriverPending })},
		{"without a status", podIn(""), with(func(d *Driver) { d.Phase = DriverPending })},
		{"its container is being created", podIn(corev1.PodPending, waits("ContainerCreating", "")),
			with(func(d *Driver) { d.Phase = DriverPending })},
		{"its init containers run", podIn(corev1.PodPending, waits("PodInitializing", "")),
			with(func(d *Driver) { d.Phase = DriverPending })},
		{"running", podIn(corev1.PodRunning, runs(), condition(corev1.PodReady, corev1.ConditionFalse, "", "")),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"running, without container statuses", podIn(corev1.PodRunning),
			with(func(d *Driver) { d.Phase = DriverRunning })},
		{"ready", podIn(corev1.PodRunning, runs(), condition(corev1.PodReady, corev1.ConditionTrue, "", "")),
			with(func(d *Driver) { d.Phase, d.Ready, d.ReadyAt = DriverRunning, true, start.Time; ran(d) })},
		{"only a sidecar runs", podIn(corev1.PodRunning, waits("ContainerCreating", "")),
			with(func(d *Driver) { d.Phase = DriverPending })},
		{"it runs, a sidecar's image cannot be pulled", podIn(corev1.PodPending, runs(),
			state("sidecar", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
				Message: "not found"}})),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverRunning,
					Cause{Reason: "ImagePullBackOff",
						Message: `image "spark:4.1.4" of container sidecar cannot be pulled: not found`}
				ran(d)
			})},
		{"succeeded", podIn(corev1.PodSucceeded, exits(0, "Completed", "")),
			with(func(d *Driver) { d.Phase = DriverSucceeded; over(d, 0) })},
		{"succeeded, and a sidecar still runs",
			podIn(corev1.PodRunning, exits(0, "Completed", ""),
				state("sidecar", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})),
			with(func(d *Driver) { d.Phase, d.Lingering = DriverSucceeded, "sidecar"; over(d, 0) })},
		{"kept by a finalizer", podIn(corev1.PodSucceeded, exits(0, "Completed", ""), func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &end, []string{"example.com/a"}
		}), with(func(d *Driver) {
			d.Phase, d.Deleting, d.GoneBy, d.Finalizers = DriverSucceeded, true, end.Time, []string{"example.com/a"}
			over(d, 0)
		})},
		{"succeeded, a sidecar failed", podIn(corev1.PodFailed, exits(0, "Completed", "")),
			with(func(d *Driver) { d.Phase = DriverSucceeded; over(d, 0) })},
		{"failed", podIn(corev1.PodFailed, exits(1, "Error", "")),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverFailed,
					Cause{Reason: "Error", Message: "driver container failed with exit code 1"}
				over(d, 1)
			})},
		{"killed for memory", podIn(corev1.PodFailed, exits(137, "OOMKilled", "")),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverFailed,
					Cause{Reason: "OOMKilled", Message: "driver container failed with exit code 137 (SIGKILL), OOMKilled: it used more memory than its limit"}
				over(d, 137)
			})},
		{"evicted by its node", podIn(corev1.PodFailed, exits(143, "Error", ""),
			saying("Evicted", "The node was low on resource: ephemeral-storage.")),
			with(func(d *Driver) {
				d.Phase, d.Evicted = DriverFailed, true
				d.Why = Cause{Reason: ReasonEvicted,
					Message: "driver container failed with exit code 143 (SIGTERM): the pod was taken from its node: The node was low on resource: ephemeral-storage."}
				over(d, 143)
			})},
		{"evicted before it ran", podIn(corev1.PodFailed, saying("Evicted", "The node had condition: [DiskPressure].")),
			with(func(d *Driver) {
				d.Phase, d.Evicted = DriverFailed, true
				d.Why = Cause{Reason: ReasonEvicted,
					Message: "driver pod failed; the status of its container is missing: The node had condition: [DiskPressure]."}
			})},
		{"past its own deadline", podIn(corev1.PodFailed, exits(143, "Error", "INFO all is well"),
			saying("DeadlineExceeded", "Pod was active too long")),
			with(func(d *Driver) {
				d.Phase = DriverFailed
				d.Why = Cause{Reason: ReasonDeadlineExceeded,
					Message: "driver container failed with exit code 143 (SIGTERM): the pod's own activeDeadlineSeconds passed: Pod was active too long"}

				over(d, 143)
			})},
		{"past its own deadline before it ran",
			podIn(corev1.PodFailed, inits("fetch", 143, ""), saying("DeadlineExceeded", "Pod was active too long")),
			with(func(d *Driver) {
				d.Phase = DriverFailed
				d.Why = Cause{Reason: ReasonDeadlineExceeded,
					Message: "driver pod failed; the status of its container is missing: Pod was active too long"}
			})},
		{"an init container failed",
			podIn(corev1.PodFailed, waits("PodInitializing", ""), inits("proxy", 0, ""),
				inits("fetch", 2, "fatal: Error: no such branch"), inits("late", 3, "")),
			with(func(d *Driver) {
				d.Phase = DriverFailed
				d.Why = Cause{Reason: "InitContainerFailed",
					Message: "init container fetch of the driver pod failed with exit code 2: fatal: Error: no such branch"}
			})},
		{"an init container was killed", podIn(corev1.PodFailed, inits("fetch", 137, "")),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverFailed,
					Cause{Reason: "InitContainerFailed",
						Message: "init container fetch of the driver pod failed with exit code 137 (SIGKILL)"}
			})},
		{"failed without a reason", podIn(corev1.PodFailed),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverFailed,
					Cause{Reason: "PodFailed", Message: "driver pod failed; the status of its container is missing"}
			})},
		{"being evicted by the Eviction API",
			podIn(corev1.PodRunning, runs(), deleted,
				condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI",
					"Eviction API: evicting")),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy, d.Evicted = DriverRunning, true, end.Time, true
				d.Why = Cause{Reason: ReasonEvicted,
					Message: "driver pod app-driver is being taken from its node: Eviction API: evicting"}
				ran(d)
			})},
		{"being preempted", podIn(corev1.PodRunning, runs(), deleted,
			condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "p")),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy, d.Evicted = DriverRunning, true, end.Time, true
				d.Why = Cause{Reason: ReasonPreempted, Message: "driver pod app-driver is being taken from its node: p"}
				ran(d)
			})},
		{"a disruption that was cancelled",
			podIn(corev1.PodRunning, runs(),
				condition(corev1.DisruptionTarget, corev1.ConditionFalse, "PreemptionByScheduler", "p")),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"its node is lost according to the pod's reason", podIn(corev1.PodRunning, runs(), saying("NodeLost", "")),
			with(func(d *Driver) {
				d.Phase, d.Why = DriverUnknown,
					Cause{Reason: ReasonNodeLost,
						Message: "node node-1 of driver pod app-driver does not answer; the operator waits until the node answers or the pod is gone"}
				ran(d)
			})},
		{"its node is lost according to the node controller",
			podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, ""), containersReady),
			with(func(d *Driver) { lost(d); ran(d) })},
		{"its node is lost and the pod cannot be deleted",
			podIn(corev1.PodRunning, runs(), deleted, taint, ready(corev1.ConditionFalse, ""), containersReady),
			with(func(d *Driver) { lost(d); d.Deleting, d.GoneBy, d.Evicted = true, end.Time, true; ran(d) })},
		{"somebody tainted its node",
			podIn(corev1.PodRunning, runs(), deleted, taint, ready(corev1.ConditionTrue, ""), containersReady),
			with(func(d *Driver) {
				d.Phase, d.Ready, d.ReadyAt, d.Deleting, d.GoneBy, d.Evicted = DriverRunning, true, start.Time, true,
					end.Time, true
				d.Why = Cause{Reason: ReasonEvicted,
					Message: "driver pod app-driver is being taken from its node: taint"}
				ran(d)
			})},
		{"somebody tainted its node before it was ready",
			podIn(corev1.PodPending, deleted, taint, ready(corev1.ConditionFalse, "ContainersNotReady")),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy, d.Evicted = DriverPending, true, end.Time, true
				d.Why = Cause{Reason: ReasonEvicted,
					Message: "driver pod app-driver is being taken from its node: taint"}
			})},
		{"not ready according to the kubelet",
			podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, "ContainersNotReady")),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"not ready because of a readiness gate",
			podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, "ReadinessGatesNotReady"), containersReady),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"not ready like its containers", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, ""),
			condition(corev1.ContainersReady, corev1.ConditionFalse, "ContainersNotReady", "")),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"it ended on a lost node", podIn(corev1.PodRunning, exits(0, "", ""), saying("NodeLost", "")),
			with(func(d *Driver) { d.Phase = DriverSucceeded; over(d, 0) })},
		{"it ended on a node that the node controller reports lost",
			podIn(corev1.PodRunning, exits(0, "", ""), ready(corev1.ConditionFalse, ""), containersReady),
			with(func(d *Driver) { d.Phase = DriverSucceeded; over(d, 0) })},
		{"deleted by somebody", podIn(corev1.PodRunning, runs(), deleted),
			with(func(d *Driver) { d.Phase, d.Deleting, d.GoneBy = DriverRunning, true, end.Time; ran(d) })},
		{"deleted by somebody, and stopped by that",
			podIn(corev1.PodFailed, exits(143, "Error", "26/01/01 ERROR SparkContext: stopped"), deleted),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy = DriverFailed, true, end.Time
				d.Why = Cause{Reason: ReasonDriverDeleted,
					Message: "driver container failed with exit code 143 (SIGTERM): the driver pod was deleted before it ended"}
				over(d, 143)
			})},
		{"deleted by somebody while it failed", podIn(corev1.PodFailed, exits(1, "Error", ""), deleted),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy = DriverFailed, true, end.Time
				d.Why = Cause{Reason: "Error", Message: "driver container failed with exit code 1"}
				over(d, 1)
			})},
		{"deleted by somebody while it was killed for memory",
			podIn(corev1.PodFailed, exits(137, "OOMKilled", ""), deleted),
			with(func(d *Driver) {
				d.Phase, d.Deleting, d.GoneBy = DriverFailed, true, end.Time
				d.Why = Cause{Reason: "OOMKilled",
					Message: "driver container failed with exit code 137 (SIGKILL), OOMKilled: it used more memory than its limit"}
				over(d, 137)
			})},
		{"with a template's own container",
			podIn(corev1.PodRunning, func(p *corev1.Pod) { p.Spec.Containers[0].Name = "mine" },
				state("mine", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: start,
					FinishedAt: end}})),
			with(func(d *Driver) { d.Phase = DriverSucceeded; over(d, 0) })},
		{"with a template's own container, which is not the last status", podIn(corev1.PodRunning,
			func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Name: "proxy"}, {Name: "mine"}} },
			state("mine", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: start,
				FinishedAt: end}}),
			state("proxy", corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: end}})),
			with(func(d *Driver) { d.Phase, d.Lingering = DriverSucceeded, "proxy"; over(d, 0) })},
		{"with a sidecar after it", podIn(corev1.PodRunning,
			func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy"}) },
			state("proxy", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}), runs()),
			with(func(d *Driver) { d.Phase = DriverRunning; ran(d) })},
		{"with the hash of its spec",
			podIn(corev1.PodPending, func(p *corev1.Pod) { p.Annotations = map[string]string{SpecHashAnnotation: "1:a"} }),
			with(func(d *Driver) { d.Phase, d.SpecHash = DriverPending, "1:a" })},
		{"with a label that is no number",
			podIn(corev1.PodPending, func(p *corev1.Pod) { p.Labels[AttemptLabel] = "x" }),
			with(func(d *Driver) { d.Phase, d.Attempt = DriverPending, 0 })},
		{"with a negative attempt", podIn(corev1.PodPending, func(p *corev1.Pod) { p.Labels[AttemptLabel] = "-1" }),
			with(func(d *Driver) { d.Phase, d.Attempt = DriverPending, 0 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.pod.DeepCopy()

			c.want.Status = before.Status.DeepCopy()
			if diff := cmp.Diff(c.want, DriverFacts(c.pod, container), withoutAdvice); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(before, c.pod); diff != "" {
				t.Errorf("the pod was changed:\n%s", diff)
			}
		})
	}
}

// TestWaits checks the wait reasons that the status of a pending pod contains.
func TestWaits(t *testing.T) {
	initWaits := func(reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
				Name: "fetch", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason,
					Message: message}},
			}}
		}
	}

	const pull = `image "spark:4.1.4" of container spark-kubernetes-driver cannot be pulled: not found`
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want Cause
	}{
		{"no wait reason", podIn(corev1.PodPending), Cause{}},
		{"the image cannot be pulled", podIn(corev1.PodPending, waits("ErrImagePull", "not found")),
			Cause{Reason: "ImagePullBackOff", Message: pull}},
		{"the image cannot be pulled, during the back-off",
			podIn(corev1.PodPending, waits("ImagePullBackOff",
				`Back-off pulling image "spark:4.1.4": ErrImagePull: not found`)),
			Cause{Reason: "ImagePullBackOff", Message: pull}},
		{"an invalid image name", podIn(corev1.PodPending, waits("InvalidImageName", "x")),
			Cause{Reason: "InvalidImageName", Message: "container spark-kubernetes-driver: x"}},
		{"a missing Secret", podIn(corev1.PodPending, waits("CreateContainerConfigError", `secret "s" not found`)),
			Cause{Reason: "CreateContainerConfigError",
				Message: `container spark-kubernetes-driver: secret "s" not found`}},
		{"a container that cannot be created", podIn(corev1.PodPending, waits("CreateContainerError", "")),
			Cause{Reason: "CreateContainerError", Message: "container spark-kubernetes-driver"}},
		{"an init container that crashes",
			podIn(corev1.PodPending, waits("PodInitializing", ""), initWaits("CrashLoopBackOff", "back-off")),
			Cause{Reason: "CrashLoopBackOff", Message: "container fetch: back-off"}},
		{"no node", podIn(corev1.PodPending,
			condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available")),
			Cause{Reason: "Unschedulable", Message: "0/3 nodes are available"}},
		{"a scheduling gate in the condition",
			podIn(corev1.PodPending, condition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", "g")),
			Cause{Reason: "SchedulingGated", Message: "g"}},
		{"scheduling gates in the spec",
			podIn(corev1.PodPending, gates("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"),
				condition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", "g")),
			Cause{Reason: "SchedulingGated",
				Message: "the pod is not scheduled until the components that set its scheduling gates remove them: " +
					"kueue.x-k8s.io/admission, kueue.x-k8s.io/topology"},
		},
		{"a scheduler that gives no reason",
			podIn(corev1.PodPending, condition(corev1.PodScheduled, corev1.ConditionFalse, "", "")),
			Cause{Reason: "Unschedulable", Message: ""}},
		{"no wait reason after the scheduling",
			podIn(corev1.PodPending, condition(corev1.PodScheduled, corev1.ConditionTrue, "", "")), Cause{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, DriverFacts(c.pod, container).Why); diff != "" {
				t.Errorf("cause (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGates checks the facts about scheduling gates, both of a driver and of a pod of a standalone cluster: whether
// gates block the pod, and when the pod was assigned to a node.
func TestGates(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	scheduled := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: status, LastTransitionTime: metav1.NewTime(at),
			})
		}
	}
	for _, c := range []struct {
		name      string
		pod       *corev1.Pod
		gated     bool
		scheduled time.Time
	}{
		{"gated", podIn(corev1.PodPending, gates("g"), scheduled(corev1.ConditionFalse)), true, time.Time{}},
		{"unschedulable", podIn(corev1.PodPending, scheduled(corev1.ConditionFalse)), false, time.Time{}},
		{"scheduled", podIn(corev1.PodPending, scheduled(corev1.ConditionTrue)), false, at},
		{"no condition", podIn(corev1.PodPending), false, time.Time{}},
	} {
		if d := DriverFacts(c.pod, container); d.Gated != c.gated || !d.ScheduledAt.Equal(c.scheduled) {
			t.Errorf("%s: of a driver %v, %s", c.name, d.Gated, d.ScheduledAt)
		}

		if m := MemberFacts(c.pod); m.Gated != c.gated || !m.ScheduledAt.Equal(c.scheduled) {
			t.Errorf("%s: of a member %v, %s", c.name, m.Gated, m.ScheduledAt)
		}
	}
}

func gates(names ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, name := range names {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
	}
}

// TestSilent checks that a scheduler counts as unresponsive until it chooses a node for the pod or gives a reason. The
// default scheduler of Kubernetes never counts as unresponsive.
func TestSilent(t *testing.T) {
	scheduledBy := func(name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.SchedulerName, pod.Spec.NodeName = name, "" }
	}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"no condition", podIn(corev1.PodPending, scheduledBy("volcano")), "volcano"},
		{"no condition, and no phase yet", podIn("", scheduledBy("volcano")), "volcano"},
		{"the default scheduler", podIn(corev1.PodPending, scheduledBy(corev1.DefaultSchedulerName)), ""},
		{"no scheduler name", podIn(corev1.PodPending, scheduledBy("")), ""},
		{"the scheduler gives a reason",
			podIn(corev1.PodPending, scheduledBy("volcano"),
				condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "no room")), ""},
		{"the pod is gated", podIn(corev1.PodPending, scheduledBy("volcano"),
			condition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", "g")), ""},
		{"the scheduler chose a node",
			podIn(corev1.PodPending, scheduledBy("volcano"),
				condition(corev1.PodScheduled, corev1.ConditionTrue, "", "")), ""},
		{"the pod has a node", podIn(corev1.PodPending, scheduledBy("volcano"),
			func(pod *corev1.Pod) { pod.Spec.NodeName = "n" }), ""},
		{"the pod runs", podIn(corev1.PodRunning, scheduledBy("volcano"), runs()), ""},
		{"the pod ended", podIn(corev1.PodFailed, scheduledBy("volcano"), exits(1, "Error", "")), ""},
		{"the pod is being deleted", podIn(corev1.PodPending, scheduledBy("volcano"), deleted), ""},
	} {
		if got := DriverFacts(c.pod, container).UnresponsiveScheduler; got != c.want {
			t.Errorf("%s: of a driver %q, want %q", c.name, got, c.want)
		}

		if got := ExecutorFacts(c.pod).UnresponsiveScheduler; got != c.want {
			t.Errorf("%s: of an executor %q, want %q", c.name, got, c.want)
		}
	}

	if why := UnresponsiveSchedulerCause("pi-driver", "volcano"); why.Reason != "SchedulerSilent" ||
		!strings.Contains(why.Message, `"volcano"`) || !strings.Contains(why.Message, "pi-driver") {
		t.Errorf("the cause is %+v", why)
	}
}

// TestLastWords checks that the message of a failure is one line that quotes the most telling line of the container's
// output.
func TestLastWords(t *testing.T) {
	trace := "26/01/01 INFO SparkContext: Running\nException in thread \"main\" java.lang.IllegalStateException: boom\n\tat Main.main(Main.java:3)\n"

	long := strings.Repeat("all is well é\n", 400)
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want func(message string) bool
	}{
		{"an exception", podIn(corev1.PodFailed, exits(1, "Error", trace)), func(m string) bool {
			return m == "driver container failed with exit code 1: java.lang.IllegalStateException: boom"
		}},
		{"no exception: the end", podIn(corev1.PodFailed, exits(3, "Error", long+"bye")), func(m string) bool {
			return m == "driver container failed with exit code 3: bye"
		}},
		{"a long trace", podIn(corev1.PodFailed,
			exits(1, "Error", "Exception: é\n"+strings.Repeat("ValueError: ééé\n", 1000))), func(m string) bool {
			return m == "driver container failed with exit code 1: ValueError: ééé"
		}},
		{"one line without an end", podIn(corev1.PodFailed, exits(1, "Error", strings.Repeat("x", 5000))),
			func(m string) bool {
				return len(m) == 200 && strings.HasSuffix(m, "xxx...")
			}},
		{"no text at all", podIn(corev1.PodFailed, exits(1, "Error", "\xff\xfe")),
			func(m string) bool { return strings.HasSuffix(m, ": ?") }},
		{"the exception in the annotation has priority",
			podIn(corev1.PodFailed, exits(1, "Error", trace), func(p *corev1.Pod) {
				p.Annotations = map[string]string{ExitExceptionAnnotation: "org.apache.spark.SparkException: told"}
			}), func(m string) bool {
				return strings.HasSuffix(m, "with exit code 1: org.apache.spark.SparkException: told")
			}},
		{"the traceback of a Python program has priority",
			podIn(corev1.PodFailed, exits(1, "Error", "ValueError: boom\n"), func(p *corev1.Pod) {
				p.Annotations = map[string]string{ExitExceptionAnnotation: "org.apache.spark.SparkUserAppException: User application exited with 1"}
			}), func(m string) bool { return strings.HasSuffix(m, "with exit code 1: ValueError: boom") }},
		{"frames are no errors, whatever their classes are called", podIn(corev1.PodFailed, exits(1, "Error",
			"\tat o.KubernetesClientException.launder(K.java:1)\n\tat java.lang.Thread.run(Thread.java:840)\nCaused by: java.io.IOException: boom\n")),
			func(m string) bool {
				return strings.HasSuffix(m, "with exit code 1: java.io.IOException: boom")
			}},
		{"the innermost exception", podIn(corev1.PodFailed, exits(1, "Error",
			"Exception in thread \"main\" X: wrapped\n\tat a.B.c(B.java:1)\n"+
				strings.Repeat("\tat app//a.B.d(B.java:2)\n", 100)+
				"Caused by: Y: the cause\n\tat a.C.d(C.scala:3)\n\t... 12 more\n")), func(m string) bool {
			return strings.HasSuffix(m, ": Y: the cause")
		}},
		{"log lines of the stop are dropped", podIn(corev1.PodFailed, exits(1, "Error",
			"    raise ValueError(\"boom\")\nValueError: boom\n26/01/01 00:00:00 INFO SparkContext: Invoking stop() from shutdown hook\n"+
				"26/01/01 00:00:00 WARN Watch: closed\n26/01/01 00:00:00 INFO ShutdownHookManager: Deleting directory /tmp/spark\n")), func(m string) bool {
			return strings.HasSuffix(m, "exit code 1: ValueError: boom")
		}},
		{"a time-out of the driver's Kubernetes client is explained", podIn(corev1.PodFailed, exits(1, "Error",
			"Caused by: java.util.concurrent.TimeoutException\n\tat io.fabric8.kubernetes.client.utils.AsyncUtils.lambda$withTimeout$0(AsyncUtils.java:42)\n")),
			func(m string) bool {
				return m == "driver container failed with exit code 1; the driver got no answer from the API server in time (10 s by default): java.util.concurrent.TimeoutException"
			}},
		{"another time-out is not explained",
			podIn(corev1.PodFailed, exits(1, "Error",
				"java.util.concurrent.TimeoutException: Futures timed out\n\tat a.B.c(B.java:1)\n")),
			func(m string) bool { return !strings.Contains(m, "API server") }},
		{"only log lines of the stop", podIn(corev1.PodFailed, exits(1, "Error",
			"26/01/01 00:00:00 INFO SparkContext: Successfully stopped SparkContext\n26/01/01 00:00:00 INFO ShutdownHookManager: Shutdown hook called\n")),
			func(m string) bool { return m == "driver container failed with exit code 1" }},
		{"only frames", podIn(corev1.PodFailed,
			exits(1, "Error", strings.Repeat("\tat app//io.netty.channel.nio.N.run(N.java:1)\n", 80))),
			func(m string) bool {
				return m == "driver container failed with exit code 1: a network operation failed"
			}},
		{"only frames that show nothing",
			podIn(corev1.PodFailed, exits(1, "Error", strings.Repeat("\tat app//a.B.c(B.java:1)\n", 80))),
			func(m string) bool { return m == "driver container failed with exit code 1" }},
		{"only frames, and a Python program's exception in the annotation",
			podIn(corev1.PodFailed, exits(1, "Error", strings.Repeat("\tat app//a.B.c(B.java:1)\n", 80)),
				func(p *corev1.Pod) {
					p.Annotations = map[string]string{ExitExceptionAnnotation: "org.apache.spark.SparkUserAppException: User application exited with 1"}
				}), func(m string) bool {
				return strings.HasSuffix(m, "SparkUserAppException: User application exited with 1")
			}},
		{"a sentence among frames", podIn(corev1.PodFailed,
			exits(1, "Error", "\tat app//a.B.c(B.java:1)\nKilled\n\tat app//a.B.c(B.java:1)\n")),
			func(m string) bool { return strings.HasSuffix(m, "exit code 1: Killed") }},
		{"a signal that the runtime reports",
			podIn(corev1.PodFailed, state(container,
				corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Signal: 11}})),
			func(m string) bool { return m == "driver container failed with exit code 255 (SIGSEGV)" }},
		{"an abort", podIn(corev1.PodFailed, exits(134, "Error", "")),
			func(m string) bool { return strings.HasSuffix(m, "(SIGABRT)") }},
		{"another signal", podIn(corev1.PodFailed, exits(138, "Error", "")),
			func(m string) bool { return strings.HasSuffix(m, "(signal 10)") }},
		{"no signal", podIn(corev1.PodFailed, exits(255, "Error", "")),
			func(m string) bool { return strings.HasSuffix(m, "exit code 255") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := DriverFacts(c.pod, container).Why.Message; !c.want(m) {
				t.Errorf("message %q", m)
			}
		})
	}
}

func TestExecutorFacts(t *testing.T) {
	base := Executor{Name: "app-driver", ID: "7", Attempt: 3, AppID: "spark-1", CreatedAt: noon, SparkVersion: "4.1.4"}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		phase DriverPhase
		why   Cause
	}{
		{"waiting", podIn(corev1.PodPending), DriverPending, Cause{}},
		{"running", podIn(corev1.PodRunning, runs()), DriverRunning, Cause{}},
		{"ended", podIn(corev1.PodSucceeded, exits(0, "", "")), DriverSucceeded, Cause{}},
		{"failed", podIn(corev1.PodFailed, exits(56, "Error", "")), DriverFailed,
			Cause{Reason: "DriverUnreachable",
				Message: "executor container failed with exit code 56 (the driver could not be reached by heartbeats)"}},
		{"out of heap", podIn(corev1.PodFailed,
			exits(52, "Error", "Terminating due to java.lang.OutOfMemoryError: Java heap space")), DriverFailed,
			Cause{Reason: "OutOfHeap", Message: "executor container failed with exit code 52 (java.lang.OutOfMemoryError): Terminating due to java.lang.OutOfMemoryError: Java heap space"}},
		{"by a code that a driver alone uses", podIn(corev1.PodFailed, exits(11, "Error", "")), DriverFailed,
			Cause{Reason: "Error", Message: "executor container failed with exit code 11"}},
		{"asked to go", podIn(corev1.PodRunning, exits(143, "Error", ""), deleted), DriverSucceeded, Cause{}},
		{"asked to go, slow", podIn(corev1.PodRunning, exits(137, "Error", ""), deleted), DriverSucceeded, Cause{}},
		{"out of memory while it was asked to go", podIn(corev1.PodRunning, exits(137, "OOMKilled", ""), deleted),
			DriverFailed,
			Cause{Reason: "OOMKilled", Message: "executor container failed with exit code 137 (SIGKILL), OOMKilled: it used more memory than its limit"}},
		{"evicted", podIn(corev1.PodFailed, exits(143, "Error", ""), deleted,
			condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "e")), DriverFailed,
			Cause{Reason: ReasonEvicted,
				Message: "executor container failed with exit code 143 (SIGTERM): the pod was taken from its node: e"}},
		{"beside a sidecar that cannot start",
			podIn(corev1.PodPending, runs(),
				state("sidecar", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError"}})),
			DriverRunning, Cause{Reason: "CreateContainerError", Message: "container sidecar"}},
		{"its init container failed", podIn(corev1.PodFailed, inits("fetch", 2, "no")), DriverFailed,
			Cause{Reason: "InitContainerFailed",
				Message: "init container fetch of the executor pod failed with exit code 2: no"}},
		{"killed by nobody we know", podIn(corev1.PodFailed, exits(143, "Error", "")), DriverFailed,
			Cause{Reason: "Error", Message: "executor container failed with exit code 143 (SIGTERM)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := base

			want.Phase, want.Why = c.phase, c.why
			if len(c.pod.Status.ContainerStatuses) > 0 {
				want.StartedAt = noon.Add(time.Minute)
			}

			if diff := cmp.Diff(want, ExecutorFacts(c.pod), withoutAdvice); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExitCodes checks which exit codes the message names. It names those of Spark itself and of signals, but not those
// of a user's program.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		code             int32
		driver, executor string
	}{
		{1, "", ""}, {2, "", ""}, {3, "", ""},
		{11, "more executors failed than spark.executor.maxNumFailures", ""},
		{50, "uncaught exception", "uncaught exception"},
		{51, "uncaught exception, and a second exception while the first was logged",
			"uncaught exception, and a second exception while the first was logged"},
		{52, "java.lang.OutOfMemoryError", "java.lang.OutOfMemoryError"},
		{58, "the block manager could not register again", "the block manager could not register again"},
		{59, "", ""},
		{101, "class not found", ""},
		{124, "the driver ran longer than spark.driver.timeout", ""},
		{127, "command not found", "command not found"},
		{137, "SIGKILL", "SIGKILL"},
	} {
		for role, want := range map[string]string{"driver": c.driver, "executor": c.executor, "spark-submit": ""} {
			if role == "spark-submit" && c.code > 128 {
				continue
			}

			pod := podIn(corev1.PodFailed, exits(c.code, "Error", ""))

			message := fmt.Sprintf("%s container failed with exit code %d", role, c.code)
			if want != "" {
				message += " (" + want + ")"
			}

			if got := failure(pod, &pod.Status.ContainerStatuses[0], role, Cause{}); got.Message != message {
				t.Errorf("%+v, want %q", got, message)
			}
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("Exception")
	f.Add(strings.Repeat("é", 2000))
	f.Fuzz(func(t *testing.T, message string) {
		got := cause.Excerpt(message)
		if len(got) > cause.MaxExcerpt+len("...") {
			t.Errorf("%d bytes", len(got))
		}

		if strings.ToValidUTF8(got, "") != got {
			t.Errorf("not UTF-8: %q", got)
		}
	})
}

// TestMemoryLimit checks that the cause of a container that was killed for memory has the limit, and that the advice
// has the setting and the numbers from which and to which to raise it.
func TestMemoryLimit(t *testing.T) {
	limited := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("896Mi")}}
	}

	pod := podIn(corev1.PodFailed, exits(137, "OOMKilled", ""), limited)
	for role, why := range map[string]Cause{"driver": DriverFacts(pod, container).Why,
		"executor": ExecutorFacts(pod).Why} {
		want := Cause{Reason: "OOMKilled",
			Message: role + " container failed with exit code 137 (SIGKILL), OOMKilled at 896Mi: it used more memory than its limit",
			Advice: fmt.Sprintf("raise spark.%[1]s.memoryOverhead, because the heap (spark.%[1]s.memory) is limited by the JVM itself; "+
				"try 448m more, for a limit of 1344Mi instead of 896Mi", role)}
		if why != want {
			t.Errorf("%+v, want %+v", why, want)
		}
	}
}

func TestSubmitterFacts(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 9, 0, time.UTC))
	pod := func(phase corev1.PodPhase, state corev1.ContainerState) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u", CreationTimestamp: at,
				Labels:      map[string]string{AttemptLabel: "2"},
				Annotations: map[string]string{SpecHashAnnotation: "1:x"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-submit"}, {Name: "mesh"}}},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "mesh", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
				{Name: "spark-submit", State: state},
			}},
		}
	}
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
		FinishedAt: at,
		Message:    "INFO x\nException in thread \"main\" org.apache.spark.SparkException: no jar"}}
	got := SubmitterFacts(pod(corev1.PodRunning, failed), "spark-submit")

	want := Submitter{Name: "s", UID: "u", Attempt: 2, Phase: DriverFailed, CreatedAt: at.Time, EndedAt: at.Time,
		SpecHash: "1:x", Why: Cause{Reason: "Error",
			Message: "spark-submit container failed with exit code 1: org.apache.spark.SparkException: no jar",
			Log:     "INFO x\nException in thread \"main\" org.apache.spark.SparkException: no jar"}}
	if diff := cmp.Diff(want, got, withoutAdvice); diff != "" {
		t.Errorf("failed while another container still runs (-want +got):\n%s", diff)
	}

	late := pod(corev1.PodFailed,
		corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error"}})

	late.Status.Reason, late.Status.Message = "DeadlineExceeded",
		"Pod was active on the node longer than the specified deadline"
	if got := SubmitterFacts(late, "spark-submit"); got.Why.Reason != ReasonDeadlineExceeded ||
		!strings.Contains(got.Why.Message, "longer than") {
		t.Errorf("past its deadline: %+v", got.Why)
	}

	going := pod(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})

	going.DeletionTimestamp = &at
	if got := SubmitterFacts(going, "spark-submit"); got.Phase != DriverRunning || !got.Deleting ||
		got.GoneBy != at.Time || !got.EndedAt.IsZero() {
		t.Errorf("going: %+v", got)
	}
}

// TestDriverOfASubmitter checks that the facts of a driver that spark-submit created contain the name of the submitter.
func TestDriverOfASubmitter(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "d",
		Annotations: map[string]string{SubmitterAnnotation: "s"}}}
	if got := DriverFacts(pod, "c").Submitter; got != "s" {
		t.Errorf("submitted by %q", got)
	}

	seen := Observed{Submitters: []Submitter{{Name: "one", Attempt: 1}, {Name: "two", Attempt: 2}}}
	if got := seen.Submitter(2); got == nil || got.Name != "two" || seen.Submitter(3) != nil {
		t.Errorf("the submitter of attempt 2 is %+v", got)
	}
}

// TestCutTrace checks a stack trace whose beginning is cut off. Kubernetes keeps only the end of a long stack trace,
// which may start in the middle of a frame. That frame may contain the name of an exception class, but the message must
// not quote it as the error.
func TestCutTrace(t *testing.T) {
	const message = "kubernetes.client.KubernetesClientException.copyAsCause(KubernetesClientException.java:205)\n" +
		"\tat io.fabric8.kubernetes.client.dsl.internal.OperationSupport.waitForResult(OperationSupport.java:507)\n" +
		"Caused by: io.fabric8.kubernetes.client.KubernetesClientException: pods is forbidden\n\tat io.fabric8.X(X.java:1)"
	if got := cause.Excerpt(message); !strings.HasPrefix(got,
		"Caused by: io.fabric8.kubernetes.client.KubernetesClientException: pods is forbidden") {
		t.Errorf("excerpt is %q", got)
	}

	if got := cause.Excerpt("Error: no such file (see Main.java:3) at all"); !strings.HasPrefix(got,
		"Error: no such file") {
		t.Errorf("a sentence counts as a frame: %q", got)
	}
}
