package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// inheritedIn returns a change that gives a cluster a status of another operator, with the given states in its history.
func inheritedIn(states ...sparkv1.ClusterStateSummary) func(*sparkv1.SparkCluster) {
	return func(sc *sparkv1.SparkCluster) {
		s := &sc.Status

		s.StateTransitionHistory = map[string]sparkv1.ClusterState{}
		for i, state := range states {
			entry := sparkv1.ClusterState{CurrentStateSummary: state,
				LastTransitionTime: fmt.Sprintf("2025-12-31T23:%02d:00.123456789Z", i%60), Message: "in their words"}
			s.StateTransitionHistory[strconv.Itoa(i)] = entry
			s.CurrentState = &entry
		}

		s.CurrentAttemptSummary = &sparkv1.ClusterAttemptSummary{AttemptInfo: &sparkv1.ClusterAttemptInfo{}}
	}
}

// inheritPods replaces the observed pods with pods that another operator's StatefulSets created.
func (w *clusterWorld) inheritPods(workers int) {
	w.observePods(workers)

	for i := range w.seen.Members {
		w.seen.Members[i].Generation = ""
	}
}

// TestClusterTakenOver checks that the operator continues another operator's cluster from each state.
func TestClusterTakenOver(t *testing.T) {
	for _, tc := range []struct {
		name     string
		left     []sparkv1.ClusterStateSummary
		workers  int // -1: no pods
		refused  string
		states   string
		ready    string
		reported []string
	}{
		{"running", []sparkv1.ClusterStateSummary{"Submitted", "RunningHealthy"}, 2, "", "Submitted RunningHealthy",
			"True", []string{status.EventClusterTakenOver}},
		{"running according to the status, but without pods",
			[]sparkv1.ClusterStateSummary{"Submitted", "RunningHealthy"}, -1, "", "Submitted RunningHealthy", "False",
			[]string{status.EventClusterTakenOver, status.EventClusterDegraded}},
		{"running, with a missing worker", []sparkv1.ClusterStateSummary{"Submitted", "RunningHealthy"}, 1, "",
			"Submitted RunningHealthy", "True",
			[]string{status.EventClusterTakenOver, status.EventClusterDegraded}},
		{"submitted, without objects", []sparkv1.ClusterStateSummary{"Submitted"}, -1, "", "Submitted", "False",
			[]string{status.EventClusterTakenOver, status.EventClusterSubmitted}},
		{"submitted, and running", []sparkv1.ClusterStateSummary{"Submitted"}, 2, "", "Submitted RunningHealthy",
			"True",
			[]string{status.EventClusterTakenOver, status.EventClusterSubmitted, running}},
		{"no status, and running", nil, 2, "", "Submitted RunningHealthy", "True",
			[]string{status.EventClusterTakenOver, status.EventClusterSubmitted, running}},
		{"refused", []sparkv1.ClusterStateSummary{"Submitted", "SchedulingFailure"}, -1, "",
			"Submitted SchedulingFailure Submitted", "False",
			[]string{status.EventClusterTakenOver, submitted}},
		{"rejected, and rejected again", []sparkv1.ClusterStateSummary{"Submitted", "SchedulingFailure"}, -1,
			"QuotaExceeded", "Submitted SchedulingFailure", "False",
			[]string{status.EventClusterTakenOver, status.EventRequestFailed}},
		{"rejected for some objects, and running",
			[]sparkv1.ClusterStateSummary{"Submitted", "SchedulingFailure", "Failed", "Failed"}, 2, "",
			"Submitted SchedulingFailure Failed Failed SchedulingFailure Submitted RunningHealthy", "True",
			[]string{status.EventClusterTakenOver, rejected, submitted, running}},
		{"released", []sparkv1.ClusterStateSummary{"Submitted", "Failed", "ResourceReleased"}, -1, "",
			"Submitted Failed ResourceReleased", "False", []string{status.EventClusterTakenOver}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newClusterWorld(t, inheritedIn(tc.left...))
			if len(tc.left) == 0 {
				w.sc.Status = sparkv1.ClusterStatus{}
			}

			if tc.workers >= 0 {
				w.inheritPods(tc.workers)
			}

			w.refused.Reason, w.refused.Message = tc.refused, "m"
			w.pass()
			w.wantStates(tc.states)
			w.wantEvents(tc.reported...)

			if got := w.condition(dialect.ConditionReady); string(got.Status) != tc.ready {
				t.Errorf("Ready %+v", got)
			}

			for key, entry := range w.sc.Status.StateTransitionHistory {
				if n := apache.KeyOf(key); int(n) < len(tc.left) &&
					(entry.Message != "in their words" || !strings.HasSuffix(entry.LastTransitionTime, ".123456789Z")) {
					t.Errorf("their state %s became %+v", key, entry)
				}
			}

			before := w.sc.Status.DeepCopy()
			w.pass()

			if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
				t.Errorf("the second pass changes the status: %s", diff)
			}
		})
	}
}

// TestClusterTakenOverIsEdited checks that inherited pods stay as they are until an edit makes them outdated.
func TestClusterTakenOverIsEdited(t *testing.T) {
	w := newClusterWorld(t, inheritedIn("Submitted", "RunningHealthy"))
	w.inheritPods(2)
	w.pass()

	if !w.sc.Status.Operator.Adopted {
		t.Fatal("the status does not record that another operator created the cluster")
	}

	w.now = w.now.Add(24 * time.Hour)
	w.seen.Members[1].Generation = "of ours: made again by their set, as it is by now"
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	editTo(2, nil)(w.sc)
	w.inheritPods(2)
	w.pass()

	if w.sc.Status.Operator.Adopted {
		t.Error("an edit changes nothing")
	}

	w.wantConditions("Ready=True(Running)", "Reconciling=True(RollingOut)", "Progressing=True(RollingOut)")
	w.observePods(2)
	w.now = w.now.Add(time.Minute)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantEvents(status.EventClusterTakenOver, status.EventClusterSpecChanged, status.EventClusterRolledOut)
}

// TestClusterLoopIsTakenOver checks the take-over of a cluster whose history has thousands of states. The other
// operator has a bug that makes a history grow until somebody stops that operator.
func TestClusterLoopIsTakenOver(t *testing.T) {
	states := []sparkv1.ClusterStateSummary{"Submitted", "SchedulingFailure"}
	for range 5000 {
		states = append(states, "Failed")
	}

	w := newClusterWorld(t, inheritedIn(states...))
	w.observePods(2)
	w.pass()

	keys := apache.KeysOf(w.sc.Status.StateTransitionHistory)
	if len(keys) != status.MaxStates || keys[len(keys)-1] != "5004" {
		t.Errorf("%d states, the last is %s", len(keys), keys[len(keys)-1])
	}

	if w.sc.Status.CurrentState.CurrentStateSummary != sparkv1.ClusterRunningHealthy {
		t.Errorf("state %+v", w.sc.Status.CurrentState)
	}
}

func TestAdoptClusterPods(t *testing.T) {
	pod := func(change ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "c-worker-0", Namespace: "ns",
			Labels: map[string]string{standalone.LabelClusterName: "c", "spark-role": "worker"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "c-worker",
				UID: "set", Controller: new(true)}},
		}}
		for _, change := range change {
			change(&p)
		}
		return p
	}
	for _, tc := range []struct {
		name string
		pod  corev1.Pod
		want bool
	}{
		{"a worker", pod(), true},
		{"the master", pod(func(p *corev1.Pod) {
			p.Labels["spark-role"], p.OwnerReferences[0].Name = "master",
				"c-master"
		}), true},
		{"a pod of another StatefulSet", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "d-worker" }), false},
		{"a pod of the other role's StatefulSet", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "c-master" }),
			false},
		{"a pod of a Deployment", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }), false},
		{"a pod without an owner", pod(func(p *corev1.Pod) { p.OwnerReferences = nil }), false},
		{"a pod whose StatefulSet was deleted", pod(func(p *corev1.Pod) {
			p.OwnerReferences, p.Labels["statefulset.kubernetes.io/pod-name"] = nil, "c-worker-0"
		}), true},
		{"a pod whose other StatefulSet was deleted", pod(func(p *corev1.Pod) {
			p.Name, p.OwnerReferences, p.Labels["statefulset.kubernetes.io/pod-name"] = "c-worker-x-0", nil,
				"c-worker-x-0"
		}), false},
		{"a pod whose StatefulSet was deleted, with another owner", pod(func(p *corev1.Pod) {
			p.OwnerReferences[0].Controller, p.Labels["statefulset.kubernetes.io/pod-name"] = nil, "c-worker-0"
		}), false},
		{"a pod with an owner that is not its controller",
			pod(func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }), false},
		{"a driver", pod(func(p *corev1.Pod) { p.Labels["spark-role"] = "driver" }), false},
	} {
		before := tc.pod.DeepCopy()

		got := testClusters.Adopt(sparkCluster(), []corev1.Pod{tc.pod})
		if (len(got) == 1) != tc.want {
			t.Errorf("%s: %d are adopted", tc.name, len(got))
		}

		if diff := cmp.Diff(*before, tc.pod); diff != "" {
			t.Errorf("%s: the candidate itself is changed: %s", tc.name, diff)
		}

		if len(got) == 1 && got[0].Labels[apache.LabelAppUID] != "uid-c" {
			t.Errorf("%s: labels %v", tc.name, got[0].Labels)
		}
	}
}

// TestClusterAuxiliaryObjects checks the labels of a cluster's objects. It also checks that existing objects do not
// change before the first decision about the cluster.
func TestClusterAuxiliaryObjects(t *testing.T) {
	w := newClusterWorld(t, autoscaledCluster(1, 4), func(sc *sparkv1.SparkCluster) {
		sc.Spec.SparkConf = map[string]string{"spark.authenticate.secret": "hush"}
	})
	if !w.c.AuxiliaryObjects(w.sc, w.seen).Unsettled {
		t.Error("objects of a cluster that nobody decided about")
	}

	w.pass()

	kinds := map[string]int{}
	for _, object := range w.c.AuxiliaryObjects(w.sc, w.seen).Objects {
		kinds[object.GetObjectKind().GroupVersionKind().Kind]++

		labels := object.GetLabels()
		if labels[lifecycle.ContentLabel] == "" || labels[apache.LabelAppUID] != "uid-c" ||
			labels[apache.LabelOperatorName] != apache.DefaultOperatorName {
			t.Errorf("%s has labels %v", object.GetName(), labels)
		}

		if object.GetNamespace() != "ns" || !metav1.IsControlledBy(object, w.sc) {
			t.Errorf("%s is not in the cluster's namespace, or the cluster does not control it", object.GetName())
		}
	}

	want := map[string]int{"ConfigMap": 1, "Secret": 1, "Service": 2, "StatefulSet": 2, "NetworkPolicy": 2,
		"HorizontalPodAutoscaler": 1, "PodDisruptionBudget": 1}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}

	for _, role := range []lifecycle.Role{lifecycle.Master, lifecycle.Worker} {
		if made, _, _ := w.c.want(w.sc, lifecycle.Observed{}); made.Made[role] == "" {
			t.Errorf("there is no digest of the spec of the pods with the role %s", role)
		}
	}

	first, again := w.c.AuxiliaryObjects(w.sc, w.seen).Objects, w.c.AuxiliaryObjects(w.sc, w.seen).Objects
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same spec renders other objects: %s", diff)
	}
}

// TestClusterRelease checks the condition that reports the progress while a cluster's objects are being deleted.
func TestClusterRelease(t *testing.T) {
	w := newClusterWorld(t)
	w.pass()
	w.now = w.now.Add(5 * time.Minute)
	w.seen = lifecycle.Observed{AuxiliaryCount: 7}
	object := w.sc.DeepCopy()
	w.c.Decide(object, w.seen, w.now)
	s := w.c.AuxiliaryObjects(object, w.seen)
	s.Record([]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "c-master-svc",
		Cause: lifecycle.Cause{Reason: "Forbidden", Message: "may not delete"}}}, w.now)
	w.store(object)

	got := w.condition(dialect.ConditionReconciling)
	if got.Reason != "Forbidden" ||
		got.Message != "7 objects and 0 pods of the cluster are being deleted; Service c-master-svc: may not delete" {
		t.Errorf("%+v", got)
	}
}

// TestClusterTransientError checks that the condition Ready reports a transient error, or the condition Degraded if the
// cluster runs.
func TestClusterTransientError(t *testing.T) {
	transient := &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "WebhookFailed", Message: "nobody answers"},
		Since: clusterNoon}
	w := newClusterWorld(t)
	w.seen.TransientError = transient
	w.pass()
	w.wantConditions("Ready=False(WebhookFailed)", "Reconciling=True(MasterNotReady)",
		"Progressing=True(MasterNotReady)")
	w.seen.TransientError = nil
	w.observePods(2)
	w.pass()
	w.seen.TransientError = transient
	w.pass()
	w.wantConditions("Ready=True(Running)", "Degraded=True(WebhookFailed)", "Progressing=False(Complete)")
	w.seen.TransientError = nil
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
}

// TestClusterWarnings checks that each field without effect is reported once.
func TestClusterWarnings(t *testing.T) {
	w := newClusterWorld(t, autoscaledCluster(0, 3))
	w.pass()
	w.wantEvents(status.EventClusterWarning, status.EventClusterWarning, status.EventClusterSubmitted)
	w.pass()
	w.wantEvents()
}
