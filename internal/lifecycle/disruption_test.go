package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// TestDisruptions checks which conditions and reasons of a pod mean that Kubernetes evicted or preempted it (the page
// about disruptions in the documentation of Kubernetes, and the reasons that kubelets write). Every reader of pods must
// agree about that.
func TestDisruptions(t *testing.T) {
	target := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return condition(corev1.DisruptionTarget, status, reason, "of the condition")
	}
	for name, c := range map[string]struct {
		change []func(*corev1.Pod)
		want   Cause
	}{
		"nothing": {nil, Cause{}},
		"preempted by a scheduler": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "PreemptionByScheduler")},
			Cause{Reason: "Preempted", Message: "of the condition"}},
		"evicted because of a taint": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "DeletionByTaintManager")},
			Cause{Reason: "Evicted", Message: "of the condition"}},
		"evicted by the Eviction API": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "EvictionByEvictionAPI")},
			Cause{Reason: "Evicted", Message: "of the condition"}},
		"of a node that no longer exists": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "DeletionByPodGC")},
			Cause{Reason: "Evicted", Message: "of the condition"}},
		"ended by its kubelet": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "TerminationByKubelet")},
			Cause{Reason: "Evicted", Message: "of the condition"}},
		"a reason of the future": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "Later")},
			Cause{Reason: "Evicted", Message: "of the condition"}},
		"a disruption that was cancelled": {[]func(*corev1.Pod){target(corev1.ConditionFalse, "PreemptionByScheduler")},
			Cause{}},
		"an unknown disruption": {[]func(*corev1.Pod){target(corev1.ConditionUnknown,
			"PreemptionByScheduler")}, Cause{}},
		"preempted by its kubelet": {[]func(*corev1.Pod){saying("Preempting", "of the pod")},
			Cause{Reason: "Preempted", Message: "of the pod"}},
		"evicted by its kubelet": {[]func(*corev1.Pod){saying("Evicted", "of the pod")},
			Cause{Reason: "Evicted", Message: "of the pod"}},
		"the node shut down": {[]func(*corev1.Pod){saying("Terminated", "of the pod")},
			Cause{Reason: "Evicted", Message: "of the pod"}},
		"the node shut down, before 1.22": {[]func(*corev1.Pod){saying("Shutdown", "of the pod")},
			Cause{Reason: "Evicted", Message: "of the pod"}},
		"the node shut down, in 1.21": {[]func(*corev1.Pod){saying("NodeShutdown", "of the pod")},
			Cause{Reason: "Evicted", Message: "of the pod"}},
		"past its own deadline":   {[]func(*corev1.Pod){saying("DeadlineExceeded", "of the pod")}, Cause{}},
		"rejected by its kubelet": {[]func(*corev1.Pod){saying("OutOfcpu", "of the pod")}, Cause{}},
		"the pod's message has priority": {[]func(*corev1.Pod){target(corev1.ConditionTrue, "PreemptionByScheduler"),
			saying("Evicted", "of the pod")}, Cause{Reason: "Preempted", Message: "of the pod"}},
		"a cancelled one, then a kubelet": {[]func(*corev1.Pod){target(corev1.ConditionFalse, "PreemptionByScheduler"),
			saying("Evicted", "of the pod")}, Cause{Reason: "Evicted", Message: "of the pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := podIn(corev1.PodFailed, append(c.change, exits(1, "Error", "out"))...)
			if got := disruption(failed); got != c.want {
				t.Errorf("the cause is %+v, want %+v", got, c.want)
			}

			taken := c.want.Reason != ""
			if d := DriverFacts(failed, container); d.Evicted != taken || taken && d.Why.Reason != c.want.Reason {
				t.Errorf("the driver is evicted: %v, %+v", d.Evicted, d.Why)
			}

			stopped := podIn(corev1.PodFailed, append(c.change, exits(143, "Error", "out"), deleted)...)
			if e := ExecutorFacts(stopped); (e.Phase == DriverFailed) != taken {
				t.Errorf("a deleted executor that a signal stopped is %s", e.Phase)
			}

			if got := DeletedWhileRunning(podIn(corev1.PodRunning, append(c.change, runs())...)); got == taken {
				t.Errorf("a running executor was deleted by somebody: %v", got)
			}
		})
	}
}

// TestAsDeletedChangesTheOutcomeOnly checks that a deleted executor counts as failed, keeps its other facts, and that
// the original does not change.
func TestAsDeletedChangesTheOutcomeOnly(t *testing.T) {
	e := ExecutorFacts(podIn(corev1.PodRunning, runs()))
	want := Executor{Name: "app-driver", ID: "7", Attempt: 3, AppID: "spark-1", SparkVersion: "4.1.4",
		Phase: DriverFailed, CreatedAt: noon, StartedAt: noon.Add(time.Minute),
		Why: Cause{Reason: "ExecutorDeleted",
			Message: "the executor pod was deleted without a grace period while it ran; Spark runs its tasks again on other executors. The audit log of the API server shows who deleted the pod"}}

	before := e
	if diff := cmp.Diff(want, e.AsDeleted()); diff != "" {
		t.Errorf("the executor (-want +got):\n%s", diff)
	}

	if e != before {
		t.Errorf("the original is now %+v", e)
	}

	if again := e.AsDeleted().AsDeleted(); again != want {
		t.Errorf("twice: %+v", again)
	}
}

// TestFactsOfAnEmptyPod checks that a pod without any field is a pod that waits, for every reader of pods.
func TestFactsOfAnEmptyPod(t *testing.T) {
	pod := &corev1.Pod{}
	if diff := cmp.Diff(Driver{Phase: DriverPending, Status: &corev1.PodStatus{}},
		DriverFacts(pod, container)); diff != "" {
		t.Errorf("driver (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(Submitter{Phase: DriverPending}, SubmitterFacts(pod, container)); diff != "" {
		t.Errorf("submitter (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(Executor{Phase: DriverPending}, ExecutorFacts(pod)); diff != "" {
		t.Errorf("executor (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(Member{Phase: DriverPending}, MemberFacts(pod)); diff != "" {
		t.Errorf("member (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(&corev1.Pod{}, pod); diff != "" {
		t.Errorf("the pod was changed:\n%s", diff)
	}
}

// TestPhasesOfPodsWithoutStatuses checks that the phase of a pod counts if the status of its Spark container is
// missing.
func TestPhasesOfPodsWithoutStatuses(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]DriverPhase{
		"": DriverPending, corev1.PodPending: DriverPending, corev1.PodRunning: DriverRunning,
		corev1.PodSucceeded: DriverSucceeded,
		corev1.PodFailed:    DriverFailed, corev1.PodUnknown: DriverUnknown, "Later": DriverPending,
	} {
		sidecar := state("sidecar", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
		for name, pod := range map[string]*corev1.Pod{"no status": podIn(phase),
			"the status of a sidecar": podIn(phase, sidecar)} {
			if d := DriverFacts(pod, container); d.Phase != want || d.HasExit ||
				(d.Why.Reason != "") != (want == DriverFailed || want == DriverUnknown) {
				t.Errorf("%q with %s: %+v, want %s", phase, name, d, want)
			}

			if e := ExecutorFacts(pod); e.Phase != want {
				t.Errorf("%q with %s: the executor is %s, want %s", phase, name, e.Phase, want)
			}
		}
	}
}

// TestExitCodesOfSignals checks which exit codes above 128 are signals: Linux has 64 signals.
func TestExitCodesOfSignals(t *testing.T) {
	for code, want := range map[int32]string{
		128: "", 129: "signal 1", 134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 192: "signal 64",
		193: "", 255: "", 0: "", -1: "", 9: "",
	} {
		if got := signalName(&corev1.ContainerStateTerminated{ExitCode: code}); got != want {
			t.Errorf("the exit code %d is %q, want %q", code, got, want)
		}
	}

	for signal, want := range map[int32]string{1: "signal 1", 6: "SIGABRT", 9: "SIGKILL", 65: ""} {
		if got := signalName(&corev1.ContainerStateTerminated{ExitCode: 137, Signal: signal}); got != want {
			t.Errorf("the signal %d is %q, want %q", signal, got, want)
		}
	}
}

// TestFactsOfLabelsAndAnnotations checks which label or annotation each fact comes from.
func TestFactsOfLabelsAndAnnotations(t *testing.T) {
	pod := podIn(corev1.PodPending, func(pod *corev1.Pod) {
		pod.Labels = map[string]string{
			"sparkoperator.dev/attempt": "2147483647", "spark-app-selector": "app", "spark-exec-id": "9",
			"spark-version": "4.0.1", "spark-role": "worker",
		}
		pod.Annotations = map[string]string{
			"sparkoperator.dev/spec-hash": "1:h", "sparkoperator.dev/submitted-by": "s",
			"sparkoperator.dev/adopted": "id", "sparkoperator.dev/restart-request": "r",
		}
		pod.Status.PodIP = "10.0.0.1"
	})

	driver := Driver{Name: "app-driver", UID: "pod-uid", Attempt: 2147483647, Phase: DriverPending, Address: "10.0.0.1",
		AppID: "app", CreatedAt: noon,
		SpecHash: "1:h", RestartRequest: "r", Submitter: "s", AttemptID: "id", SparkVersion: "4.0.1",
		Status: &pod.Status}
	if diff := cmp.Diff(driver, DriverFacts(pod, container)); diff != "" {
		t.Errorf("driver (-want +got):\n%s", diff)
	}

	submitter := Submitter{Name: "app-driver", UID: "pod-uid", Attempt: 2147483647, Phase: DriverPending,
		CreatedAt: noon, SpecHash: "1:h", RestartRequest: "r"}
	if diff := cmp.Diff(submitter, SubmitterFacts(pod, container)); diff != "" {
		t.Errorf("submitter (-want +got):\n%s", diff)
	}

	executor := Executor{Name: "app-driver", ID: "9", Attempt: 2147483647, AppID: "app", SparkVersion: "4.0.1",
		Phase: DriverPending, CreatedAt: noon}
	if diff := cmp.Diff(executor, ExecutorFacts(pod)); diff != "" {
		t.Errorf("executor (-want +got):\n%s", diff)
	}

	member := Member{Name: "app-driver", Role: Worker, Phase: DriverPending, CreatedAt: noon, Generation: "1:h"}
	if diff := cmp.Diff(member, MemberFacts(pod)); diff != "" {
		t.Errorf("member (-want +got):\n%s", diff)
	}

	for label, want := range map[string]int32{"0": 0, "1": 1, "2147483648": 0, "-2147483648": 0, "1.0": 0, " 1": 0,
		"1e3": 0, "0x1": 0, "": 0} {
		pod.Labels[AttemptLabel] = label
		if got := DriverFacts(pod, container).Attempt; got != want {
			t.Errorf("the label %q is attempt %d, want %d", label, got, want)
		}
	}
}

// TestExcerptIsTheEnd checks that the excerpt is the end of a long output in whole lines, without frames and without
// the lines that Spark logs while it stops.
func TestExcerptIsTheEnd(t *testing.T) {
	fill := func(bytes int) string { return strings.Repeat("all is well\n", bytes/12) }
	for name, c := range map[string]struct{ output, begins, ends string }{
		"an error at the end": {fill(40<<10) + "ValueError: one\nbye", "all is well\n",
			"ValueError: one\nbye"},
		"the end of one long line": {strings.Repeat("x", 50<<10) + "é", "xxx", "xé"},
		"a cut in a character":     {strings.Repeat("é", 50<<10) + "x", "éé", "éx"},
		"blank lines and one error": {"\n\n \n" + strings.Repeat("\n", 30<<10) + "OSError: one", "",
			"OSError: one"},
		"frames, and a cut in a one": {strings.Repeat("\tat a.B.c(B.java:1)\n",
			3000) + "Caused by: SomeException", "", "Caused by: SomeException"},
		"a first line without its beginning": {"nager with 117.0 MiB RAM, BlockManagerId(driver, host, 7079, None)\n" +
			fill(1995), "all is well\n", "all is well"},
		"an error without its beginning": {"ption: SomeException: one\n" + strings.Repeat("\tat a.B.c(B.java:1)\n",
			100) + "bye", "ption: SomeException", "bye"},
		"the stop":             {"ValueError: one\n26/01/01 00:00:00 INFO SparkContext: Invoking stop() from shutdown hook\n", "ValueError: one", "ValueError: one"},
		"nothing but the stop": {"26/01/01 00:00:00 INFO SparkContext: Invoking stop() from shutdown hook\n", "", ""},
	} {
		got := cause.Excerpt(c.output)
		if !strings.HasPrefix(got, c.begins) || !strings.HasSuffix(got, c.ends) || len(got) > cause.MaxExcerpt ||
			c.ends == "" && got != "" {
			t.Errorf("%s: %d bytes from %.40q to %q", name, len(got), got, got[max(0, len(got)-40):])
		}
	}
}
