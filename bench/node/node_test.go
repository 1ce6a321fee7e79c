package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestTimeline(t *testing.T) {
	line := newTimeline()
	if _, wait, ok := line.next(noon); ok || wait < time.Minute {
		t.Errorf("an empty one has a task, or one in %s", wait)
	}
	for i, second := range []int{5, 1, 3, 1, 9} {
		line.add(task{due: noon.Add(time.Duration(second) * time.Second), pod: types.UID(fmt.Sprint(i))})
	}
	select {
	case <-line.wake:
	default:
		t.Error("nobody is told of the first task")
	}
	if _, wait, ok := line.next(noon); ok || wait != time.Second {
		t.Errorf("before the first is due it is due: %v, or in %s", ok, wait)
	}
	var got []types.UID
	for {
		next, _, ok := line.next(noon.Add(5 * time.Second))
		if !ok {
			break
		}
		got = append(got, next.pod)
	}
	slices.Sort(got[:2]) // due at the same moment
	if diff := cmp.Diff([]types.UID{"1", "3", "2", "0"}, got); diff != "" {
		t.Error(diff)
	}
	if line.len() != 1 {
		t.Errorf("%d are left", line.len())
	}
}

func bound(role string, edit func(*corev1.Pod)) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: role, UID: types.UID(role), Labels: map[string]string{"spark-role": role, "spark-app-selector": "spark-1", lifecycle.AttemptLabel: "2"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "SparkApplication", Name: "app", UID: "app", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
			{Name: "sidecar", Args: []string{"--verbose"}}, {Name: "spark", Args: []string{"driver", "executors=3", "run=2s", "exit=1"}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }

func TestSaw(t *testing.T) {
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	type said struct {
		Next act
		News bool
	}
	for name, tc := range map[string]struct {
		seen []*corev1.Pod
		want []said
	}{
		"a pod that was bound is started, once": {
			[]*corev1.Pod{bound("driver", nil), bound("driver", nil), bound("driver", phase(corev1.PodRunning))}, []said{{start, true}, {}, {}},
		},
		"one that ran before the nodes goes on": {[]*corev1.Pod{bound("executor", phase(corev1.PodRunning))}, []said{{}}},
		"its deletion is asked for":             {[]*corev1.Pod{bound("driver", nil), bound("driver", deleted), bound("driver", deleted)}, []said{{start, true}, {remove, true}, {}}},
		"bound and deleted at once":             {[]*corev1.Pod{bound("driver", deleted)}, []said{{remove, true}}},
		"one that is none of Spark's runs too":  {[]*corev1.Pod{bound("web", nil)}, []said{{start, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			k := known{pods: map[types.UID]*pod{}}
			var got []said
			for _, seen := range tc.seen {
				next, news, err := k.saw(seen)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, said{next, news})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	k := known{pods: map[types.UID]*pod{}}
	child := bound("executor", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "driver" })
	longer := bound("driver", func(p *corev1.Pod) {
		p.Spec.Containers[1].Args = append(p.Spec.Containers[1].Args, "executor-run=9s")
	})
	for _, seen := range []*corev1.Pod{longer, child} {
		if _, _, err := k.saw(seen); err != nil {
			t.Fatal(err)
		}
	}
	k.begun("driver", noon)
	got, _ := k.get("driver")
	want := pod{namespace: "n", name: "driver", node: "node-1", uid: "driver", placed: true, containers: []string{"sidecar", "spark"}, started: noon, driver: &driver{
		program: load.Program{Executors: 3, Run: 2 * time.Second, ExecutorRun: 9 * time.Second, Exit: 1}, app: longer.OwnerReferences[0], attempt: "2", appID: "spark-1",
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pod{}, driver{})); diff != "" {
		t.Error(diff)
	}
	executor, _ := k.get("executor")
	if code := k.leaves(executor); code != sigterm {
		t.Errorf("an executor that is deleted exits with %d", code)
	}
	k.stops("driver")
	if code := k.leaves(executor); code != 0 {
		t.Errorf("an executor whose driver stops exits with %d", code)
	}
	if got.driver.stops {
		t.Error("a copy changed")
	}
	k.over("executor")
	if executor, _ := k.get("executor"); !executor.over {
		t.Error("an executor that ended is not over")
	}
	if run := k.lifetime(executor); run != 9*time.Second {
		t.Errorf("the executor runs for %s", run)
	}
	scheduled := bound("driver", func(p *corev1.Pod) {
		p.UID, p.Status.Conditions = "scheduled", []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	})
	if p, err := read(scheduled); err != nil || p.placed {
		t.Errorf("a pod that was bound by the scheduler is taken for one that was placed: %v", err)
	}
	k.forget("driver")
	if run := k.lifetime(executor); run != 0 {
		t.Errorf("the executor of a driver that is gone runs for %s", run)
	}
	k.only(map[types.UID]bool{"other": true})
	if _, ok := k.get("executor"); ok {
		t.Error("a pod that is not there any more is known")
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		want string
	}{
		"no owner":    {func(p *corev1.Pod) { p.OwnerReferences = nil }, "n/driver has no controller"},
		"bad program": {func(p *corev1.Pod) { p.Spec.Containers[1].Args = []string{"run=x"} }, `n/driver: argument "run=x"`},
	} {
		if _, err := read(bound("driver", tc.edit)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestStatus holds what is played to what the operator reads in it.
func TestStatus(t *testing.T) {
	play := func(of ...corev1.PodStatus) lifecycle.Driver {
		p := bound("driver", nil)
		for _, status := range of {
			p.Status = status
		}
		return lifecycle.DriverFacts(p, "spark")
	}
	names := []string{"sidecar", "spark"}
	run := running(names, address(1), noon)
	for name, tc := range map[string]struct {
		got, want lifecycle.Driver
	}{
		"creating":  {play(creating(names, noon)), lifecycle.Driver{Phase: lifecycle.DriverPending}},
		"running":   {play(run), lifecycle.Driver{Phase: lifecycle.DriverRunning, Ready: true, ReadyAt: noon, StartedAt: noon, Address: "10.0.0.1"}},
		"succeeded": {play(ended(names, 0, noon, noon.Add(time.Minute))), lifecycle.Driver{Phase: lifecycle.DriverSucceeded, StartedAt: noon, EndedAt: noon.Add(time.Minute), HasExit: true}},
		"failed":    {play(ended(names, 3, noon, noon.Add(time.Minute))), lifecycle.Driver{Phase: lifecycle.DriverFailed, StartedAt: noon, EndedAt: noon.Add(time.Minute), HasExit: true, ExitCode: 3}},
	} {
		same := cmpopts.IgnoreFields(lifecycle.Driver{}, "Name", "UID", "Attempt", "AppID", "Status", "Why")
		if diff := cmp.Diff(tc.want, tc.got, same); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestStatusPatch: each patch of a life makes of the status before it what a kubelet would have there, of one pod and no other of its name.
func TestStatusPatch(t *testing.T) {
	names := []string{"c"}
	stored := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, next := range []corev1.PodStatus{creating(names, noon), running(names, address(258), noon), ended(names, sigterm, noon, noon.Add(time.Second))} {
		patch, err := statusPatch("u", next)
		if err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		stored = corev1.Pod{}
		if err := json.Unmarshal(after, &stored); err != nil {
			t.Fatal(err)
		}
		if stored.UID != "u" || stored.Status.Phase != next.Phase {
			t.Errorf("%s: UID %q, phase %s", patch, stored.UID, stored.Status.Phase)
		}
		same := cmpopts.EquateApproxTime(0) // zones
		if diff := cmp.Diff(next.ContainerStatuses, stored.Status.ContainerStatuses, same); diff != "" {
			t.Errorf("%s: the containers: %s", next.Phase, diff)
		}
		for _, c := range next.Conditions {
			if !slices.ContainsFunc(stored.Status.Conditions, func(is corev1.PodCondition) bool { return cmp.Equal(is, c, same) }) {
				t.Errorf("%s: there is no %+v in %+v", next.Phase, c, stored.Status.Conditions)
			}
		}
	}
	if stored.Status.PodIP != "10.0.1.2" || len(stored.Status.Conditions) != 4 {
		t.Errorf("of the life there is %+v", stored.Status)
	}
}

// TestRender holds the executors to Spark's: named, labelled and owned as the operator finds them.
func TestRender(t *testing.T) {
	var sent load.Application
	for a := range (load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 1, Executors: 2}}}).Applications() {
		sent = a
	}
	var app v1beta2.SparkApplication
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent.Object.Object, &app); err != nil {
		t.Fatal(err)
	}
	app.UID = "app"
	for _, placed := range []bool{false, true} {
		of := pod{namespace: "n", name: "a-driver", node: "node-3", uid: "driver", driver: &driver{program: load.Program{Executors: 2, Placed: placed}, attempt: "1", appID: "spark-7"}}
		pods, err := render(&app, of)
		if err != nil || len(pods) != 2 {
			t.Fatalf("%d pods: %v", len(pods), err)
		}
		for i, p := range pods {
			owner := metav1.GetControllerOf(p)
			if owner == nil || owner.UID != "driver" || p.Labels["spark-role"] != "executor" || p.Labels["spark-exec-id"] != fmt.Sprint(i+1) ||
				p.Labels["spark-app-selector"] != "spark-7" || p.Labels[lifecycle.AppUIDLabel] != "app" || (p.Spec.NodeName == "node-3") != placed {
				t.Errorf("placed %v: executor %s, owner %v, labels %v, node %q", placed, p.Name, owner, p.Labels, p.Spec.NodeName)
			}
		}
		maps := configMaps(pods[0], "spark-7")
		if len(maps) != 1 || maps[0].Labels["spark-role"] != "executor" || len(maps[0].OwnerReferences) != 1 {
			t.Errorf("the executors' ConfigMaps are %v", maps)
		}
	}
	if _, err := render(&app, pod{namespace: "n", name: "x", driver: &driver{attempt: "first"}}); err == nil || !strings.Contains(err.Error(), "n/x") {
		t.Errorf("of no attempt: %v", err)
	}
}

func TestGone(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "p", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for want, errs := range map[bool][]error{
		true:  {apierrors.NewNotFound(pods, "p"), apierrors.NewConflict(pods, "p", nil), terminating},
		false: {apierrors.NewForbidden(pods, "p", nil), apierrors.NewServiceUnavailable("busy"), fmt.Errorf("x")},
	} {
		for _, err := range errs {
			if gone(err) != want {
				t.Errorf("%v: gone is %v", err, !want)
			}
		}
	}
}
