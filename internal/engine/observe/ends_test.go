package observe

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// endedExecutor returns an executor of the application pi whose Spark container ended with the given exit code. A
// negative code means that the container has not ended.
func endedExecutor(uid string, code int32) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "pi-exec-" + uid, UID: types.UID(uid),
			Labels: map[string]string{identity.RoleLabel: identity.RoleExecutor, identity.AppUIDLabel: "app",
				identity.AttemptLabel: "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(),
				Kind: "SparkApplication", Name: "pi", UID: "app"}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: overlay.ExecutorContainer}}},
	}
	if code >= 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: overlay.ExecutorContainer,
			State: scene.Exited(code, "")}}
	}
	return pod
}

// TestObserveGone checks that a deleted executor is counted if it belongs to the status's attempt, the status has not
// counted it, and no existing executor has its name. Decisions ignore such executors, and no pass is requested for
// them. An executor that the status has counted is forgotten.
func TestObserveGone(t *testing.T) {
	t.Parallel()

	remembers := func(phase lifecycle.Phase, attempt int32, seen string) *v1beta2.OperatorStatus {
		return &v1beta2.OperatorStatus{Phase: string(phase), Attempt: attempt,
			Executors: &v1beta2.OperatorExecutors{Seen: seen}}
	}
	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	end := endedExecutor("7", -1)
	successor := end.DeepCopy()
	successor.UID = "another"
	stranger := end.DeepCopy()

	stranger.OwnerReferences[0].UID = "another"
	for _, test := range []struct {
		name   string
		status *v1beta2.OperatorStatus
		gone   *corev1.Pod
		there  []corev1.Pod
		want   []string
		kept   int
	}{
		{"status is empty", nil, end, nil, nil, 1},
		{"no executor is counted", remembers(lifecycle.Ready, 1, ""), end, nil, []string{"pi-exec-7"}, 1},
		{"only others are counted", remembers(lifecycle.Running, 1, "1-6,8"), end, nil, []string{"pi-exec-7"}, 1},
		{"executor is counted", remembers(lifecycle.Running, 1, "1-7"), end, nil, nil, 0},
		{"another pod has the executor's name", remembers(lifecycle.Running, 1, ""), end, []corev1.Pod{*successor},
			nil, 1},
		{"executor's pod still exists", remembers(lifecycle.Running, 1, ""), end, []corev1.Pod{*end}, nil, 1},
		{"executor belongs to another application", remembers(lifecycle.Running, 1, ""), stranger, nil, nil, 1},
		{"executor of an earlier attempt", remembers(lifecycle.Running, 2, ""), end, nil, nil, 0},
		{"executor of an attempt that the status does not have yet", remembers(lifecycle.Running, 0, ""), end, nil,
			nil, 1},
		{"application has ended", remembers(lifecycle.Retained, 1, "1"), end, nil, []string{"pi-exec-7"}, 1},
		{"objects of the attempt are deleted", remembers(lifecycle.Waiting, 1, ""), end, nil, nil, 1},
		{"application is being suspended", remembers(lifecycle.Suspending, 1, ""), end, nil, nil, 1},
	} {
		o := Observer{Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil), Ended: &churn.Ended{}}
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "app"}}
		app.Status.Operator = test.status
		o.Ended.Note(key, churn.End{Pod: handlers.LastState(test.gone), Gone: true})

		s := Observation{View: dependents.View{Owner: app, Set: dependents.SortPods(test.there, app.UID)},
			Ended: o.Ended.Of(key)}
		if failed := o.missingPods(app, test.there, s.Ended); len(failed) > 0 {
			t.Errorf("%s: decisions use %d deleted pods", test.name, len(failed))
		}

		var got []string
		for _, e := range o.uncountedExecutors(s) {
			got = append(got, e.Name)
		}

		if diff := cmp.Diff(test.want, got); diff != "" || len(o.Ended.Of(key)) != test.kept {
			t.Errorf("%s: %d ended executors are still recorded: %s", test.name, len(o.Ended.Of(key)), diff)
		}

		without := o

		without.Kind = configured.For(kinds.SparkCluster).Build(config.Default, nil)
		if got := without.uncountedExecutors(s); len(got) > 0 {
			t.Errorf("%s: a kind without executor counts in its status counts an executor", test.name)
		}
	}
}

// TestObserveTaken checks that an executor that somebody deleted counts as failed if its driver continues, even if the
// status has already counted the executor as running.
func TestObserveTaken(t *testing.T) {
	t.Parallel()

	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	taken := endedExecutor("7", -1)
	taken.Status.Phase = corev1.PodRunning
	const failed, completed = lifecycle.DriverFailed, lifecycle.DriverSucceeded
	works := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverRunning}
	over, deleted, lost := works, works, works

	over.Phase, deleted.Deleting, lost.Phase = lifecycle.DriverSucceeded, true, lifecycle.DriverUnknown
	for name, c := range map[string]struct {
		tally  v1beta2.OperatorExecutors
		driver []lifecycle.Driver
		want   []lifecycle.DriverPhase
	}{
		"executor is counted as running": {v1beta2.OperatorExecutors{Seen: "1-7"},
			[]lifecycle.Driver{works}, []lifecycle.DriverPhase{failed}},
		"executor is not counted": {v1beta2.OperatorExecutors{}, []lifecycle.Driver{works},
			[]lifecycle.DriverPhase{failed}},
		"executor is counted as failed": {v1beta2.OperatorExecutors{Seen: "1-7", Failed: "7"},
			[]lifecycle.Driver{works}, nil},
		"the driver's node is lost": {v1beta2.OperatorExecutors{Seen: "1-7"},
			[]lifecycle.Driver{lost}, []lifecycle.DriverPhase{failed}},
		"the driver has ended": {v1beta2.OperatorExecutors{Seen: "1-7"},
			[]lifecycle.Driver{over}, nil},
		"the driver is deleted": {v1beta2.OperatorExecutors{Seen: "1-7"},
			[]lifecycle.Driver{deleted}, nil},
		"there is no driver": {v1beta2.OperatorExecutors{Seen: "1-7"}, nil, nil},
		"the driver ended, and the executor is not counted": {v1beta2.OperatorExecutors{}, []lifecycle.Driver{over},
			[]lifecycle.DriverPhase{completed}},
		"the driver is of another attempt": {v1beta2.OperatorExecutors{Seen: "1-7"},
			[]lifecycle.Driver{{Attempt: 2, Phase: works.Phase}}, nil},
	} {
		o := Observer{Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil), Ended: &churn.Ended{}}
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "app"}}
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(lifecycle.Running), Attempt: 1, Executors: &c.tally}

		o.Ended.Note(key, churn.End{Pod: handlers.LastState(taken), Gone: true, Taken: true})
		s := Observation{View: dependents.View{Owner: app, Seen: lifecycle.Observed{Drivers: c.driver}},
			Ended: o.Ended.Of(key)}

		var got []lifecycle.DriverPhase
		for _, e := range o.uncountedExecutors(s) {
			got = append(got, e.Phase)
			if (e.Phase == failed) != (e.Why.Reason == lifecycle.ReasonExecutorDeleted) {
				t.Errorf("%s: %+v", name, e)
			}
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUnseen checks that missingPods returns the pod of a failed executor if the pod no longer exists, so that the pass
// decides as if the pod existed.
func TestUnseen(t *testing.T) {
	t.Parallel()

	failed := endedExecutor("1", 1)
	ends := []churn.End{{Pod: *failed}}

	o, app := Observer{Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil)},
		&v1beta2.SparkApplication{}
	if pods := o.missingPods(app, []corev1.Pod{*failed}, ends); len(pods) != 0 {
		t.Errorf("while the pod exists: %d pods", len(pods))
	}

	if pods := o.missingPods(app, nil, ends); len(pods) != 1 || pods[0].UID != failed.UID {
		t.Errorf("when the pod is gone: %d pods", len(pods))
	}
}

// TestUnseenSuccess checks that a driver that exited with code 0 and was removed before a pass is found while its
// attempt is live or is being suspended. After that, its pod does not count as existing.
func TestUnseenSuccess(t *testing.T) {
	t.Parallel()

	driver := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-driver", UID: "d",
		Labels: map[string]string{identity.RoleLabel: identity.RoleDriver}}}
	for phase, want := range map[lifecycle.Phase]int{
		lifecycle.Running: 1, lifecycle.Launched: 1, lifecycle.Suspending: 1, lifecycle.Suspended: 0,
		lifecycle.Waiting: 0, lifecycle.Retained: 0, lifecycle.Editing: 0,
	} {
		app := &v1beta2.SparkApplication{}
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(phase)}

		o := Observer{Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil)}
		if pods := o.missingPods(app, nil, []churn.End{{Pod: driver}}); len(pods) != want {
			t.Errorf("%s: %d pods, want %d", phase, len(pods), want)
		}
	}
}

// TestLookAgainAfterWhatIsGone checks that a pass that handles a deleted executor as if it existed requests another
// pass.
func TestLookAgainAfterWhatIsGone(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	failed := endedExecutor("1", 1)
	failed.Labels[identity.AppUIDLabel], failed.OwnerReferences[0].UID = string(app.UID), app.UID

	o := Observer{
		Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil), Ended: &churn.Ended{},
		Explainer:  explain.New(w.API, w.API, nil),
		Dependents: dependents.Client{Client: empty{w.API}, Live: w.API},
	}
	for _, want := range []struct {
		executors int
		check     time.Duration
	}{{0, 0}, {1, requeueDelay}} {
		s, err := o.Observe(t.Context(), app, scene.Noon)
		if err != nil {
			t.Fatal(err)
		}

		if len(s.Seen.Executors) != want.executors || s.RequeueAfter != want.check {
			t.Errorf("%d executors, and the next pass is in %s; want %v", len(s.Seen.Executors), s.RequeueAfter, want)
		}

		o.Ended.Note(identity.Key(app), churn.End{Pod: *failed})
	}
}

// empty is a cache that shows no dependents.
type empty struct{ client.Client }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
