package e2e

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// nodeLost checks the behaviour after a node is lost. It suspends the kubelet, so that Kubernetes treats the node as
// lost while the containers continue. Two applications run on the node. The test deletes the driver of one of them, as
// Kubernetes itself would after five minutes. Without a kubelet the deletion cannot finish, so the operator must not
// start a second driver. After the kubelet resumes, the driver of the other application must still run.
func (w *suite) nodeLost(t *testing.T) {
	w.needsEmbedded(t, "a kubelet that can be stopped")
	nodeName := w.nodeName(t)

	var both []*story
	for _, app := range []string{"stays", "goes"} {
		app := w.scriptedApp(t, app, []string{"told"}, func(a *v1beta2.SparkApplication) {
			a.Spec.RestartPolicy, a.Spec.Driver.Tolerations = oneRetry(), tolerateLostNode()
		})
		w.mountInstruction(t, app, "sleep")
		s := w.createStory(t, app)
		s.untilRun(t, 1)
		s.untilStep(t, "sleep")
		w.setInstruction(t, app, "end")

		both = append(both, s)
	}

	first, second := both[0], both[1]
	drivers := w.driversOf(t, first, second)

	goOn, err := w.SuspendComponent(t.Context(), "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	defer goOn()

	for _, s := range both {
		s.waitFor(t, patience, "NodeLost",
			func(a *v1beta2.SparkApplication) bool { return condition(a, "Ready").Reason == "NodeLost" })

		if c := condition(s.app, "Ready"); c.Status != "False" ||
			s.app.Status.AppState != (v1beta2.ApplicationState{State: running}) {
			t.Errorf("%s: %+v, and condition Ready is %+v, want RUNNING, without an error, and False", s.app.Name,
				s.app.Status.AppState, c)
		}
	}

	if err := w.Client.Delete(t.Context(), second.driver(t)); err != nil {
		t.Fatal(err)
	}

	second.patch(t, `{"spec": {"timeToLiveSeconds": 3600}}`)
	second.waitFor(t, patience, "another pass",
		func(a *v1beta2.SparkApplication) bool { return a.Status.ObservedGeneration == a.Generation })

	if got, state := w.driversOf(t, first, second), second.app.Status.AppState.State; got != drivers ||
		state != running {
		t.Errorf("%s, and the drivers are %v, were %v: one was started beside one that may run", state, got, drivers)
	}

	goOn()

	// The node is ready again. The first driver has run all the time.
	first.waitFor(t, patience, "the end of the reason NodeLost",
		func(a *v1beta2.SparkApplication) bool { return condition(a, "Ready").Reason != "NodeLost" })

	if got := w.driversOf(t, first); got != [2]types.UID{drivers[0]} {
		t.Errorf("the driver is %v, was %v", got, drivers)
	}
	// The kubelet now deletes the second driver, and the application runs again.
	second.waitFor(t, patience, "the end",
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == completed })
	second.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, completed),
		runs:   2, submissions: 2, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationPendingRerun", "SparkApplicationSubmitted",
			"SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning", "SparkDriverUnknown"},
	})
	first.checkEvents(t, []string{"SparkApplicationSubmitted", "SparkDriverRunning", "SparkDriverUnknown"})

	if got, want := first.states, states(created, submitted, running); !slices.Equal(got, want) {
		t.Errorf("the states are %q, want %q", got, want)
	}

	w.remove(t, first.app)
	w.awaitNode(t, nodeName)
}

// awaitNode waits until a node that was lost takes pods again.
func (w *suite) awaitNode(t *testing.T, name string) {
	t.Helper()
	eventually(t, time.Minute, "the node to be ready for others", func() (string, bool) {
		var node corev1.Node
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			return err.Error(), false
		}
		return "it has taints", len(node.Spec.Taints) == 0
	})
}

// tolerateLostNode returns tolerations that let a pod stay on a lost node for an hour, which is longer than the test
// needs. With Kubernetes' default of five minutes, the pod could be deleted before the node is ready again.
func tolerateLostNode() (all []corev1.Toleration) {
	for _, taint := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		all = append(all, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(3600))})
	}
	return all
}

// driversOf returns the UID of the driver of each application. It accepts up to two applications, and each must have
// exactly one driver.
func (w *suite) driversOf(t *testing.T, stories ...*story) (uids [2]types.UID) {
	t.Helper()

	for i, s := range stories {
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, client.InNamespace(s.app.Namespace),
			client.MatchingLabels{labelAppUID: string(s.app.UID), "spark-role": "driver"}); err != nil {
			t.Fatal(err)
		}

		if len(pods.Items) != 1 {
			t.Fatalf("%s has %d drivers", s.app.Name, len(pods.Items))
		}

		uids[i] = pods.Items[0].UID
	}
	return uids
}
