package node

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
	"github.com/sparkoperator/spark-operator/bench/world/worldtest"
)

// TestPlay runs a handful of applications on a real control plane, scheduler and operator: each comes to the end that its arguments say, and leaves nothing
// behind but its driver.
func TestPlay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the embedded control plane needs Linux")
	}
	if testing.Short() {
		t.Skip("-short: starts a control plane")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	w, c := playground(ctx, t)
	s := load.Spec{Classes: []load.Class{
		{Name: "good", Namespace: "play", Count: 3, Executors: 2, Run: load.For(time.Second)},
		{Name: "bad", Namespace: "play", Count: 1, Executors: 1, Run: load.For(time.Second), Fail: 1},
		{Name: "alone", Namespace: "play", Count: 1, Run: load.For(time.Second)},
		{Name: "short", Namespace: "play", Count: 1, Executors: 2, Placed: true, Run: load.For(3 * time.Second), ExecutorRun: load.For(500 * time.Millisecond)},
		{Name: "standing", Namespace: "play", Count: 1, Executors: 2, Placed: true, Run: load.For(time.Hour)},
	}}
	told := follow(ctx, t, w)
	if sent, err := load.Send(ctx, w.Dynamic, s, 4); err != nil || sent != s.Count() {
		t.Fatalf("%d sent: %v", sent, err)
	}
	want := map[string]string{
		"good-0": "COMPLETED", "good-1": "COMPLETED", "good-2": "COMPLETED", "bad-0": "FAILED", "alone-0": "COMPLETED", "short-0": "COMPLETED", "standing-0": "RUNNING",
	}
	var got map[string]string
	err := world.Until(ctx, "the states", func() (done bool, err error) {
		got, err = states(ctx, w)
		return cmp.Equal(want, got), err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, cmp.Diff(want, got))
	}
	// Six drivers that ended, one that stands with two executors.
	left(ctx, t, w, 6+1+2)
	if err := w.Dynamic.Resource(world.Applications).Namespace("play").Delete(ctx, "standing-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	left(ctx, t, w, 6)
	// What a kubelet tells of each pod: that it waits for its containers, unless it or its executors were placed, runs, and how it ended, also where it was taken away.
	if diff := cmp.Diff(map[string]int{
		"good, driver: ContainerCreating Running Completed": 3, "good, executor: ContainerCreating Running Completed": 6,
		"bad, driver: ContainerCreating Running Error": 1, "bad, executor: ContainerCreating Running Completed": 1,
		"alone, driver: ContainerCreating Running Completed": 1,
		"short, driver: Running Completed":                   1, "short, executor: Running Completed": 2,
		"standing, driver: Running Error": 1, "standing, executor: Running Error": 2,
	}, told()); diff != "" {
		t.Error(diff)
	}
	counts := c.Counts()
	if counts.Running != 7+12-1 || counts.Asked != 11 || counts.Removed < 11 || counts.Ended != 6+2 {
		t.Errorf("played: %+v", counts)
	}
	ready(ctx, t, w)
}

func playground(ctx context.Context, t *testing.T) (*world.World, *Cluster) {
	t.Helper()
	w := worldtest.New(ctx, t, world.Options{Scheduler: true})
	if err := w.Namespace(ctx, "play"); err != nil {
		t.Fatal(err)
	}
	c, err := Start(ctx, w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	op, err := w.StartOperator(ctx, world.OperatorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := op.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w, c
}

// follow watches what is told of pods, until the function that it returns counts the stories.
func follow(ctx context.Context, t *testing.T, w *world.World) (told func() map[string]int) {
	t.Helper()
	events, err := w.Core.CoreV1().Pods("play").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var seen sync.WaitGroup
	stories := map[string]string{}
	seen.Go(func() {
		for e := range events.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok || len(p.Status.ContainerStatuses) == 0 {
				continue
			}
			word := "Running"
			switch is := p.Status.ContainerStatuses[0].State; {
			case is.Terminated != nil:
				word = is.Terminated.Reason
			case is.Waiting != nil:
				word = is.Waiting.Reason
			}
			if !strings.HasSuffix(stories[p.Name], " "+word) {
				stories[p.Name] += " " + word
			}
		}
	})
	return func() map[string]int {
		events.Stop()
		seen.Wait()
		count := map[string]int{}
		for name, story := range stories {
			class, rest, _ := strings.Cut(name, "-")
			role := "driver"
			if strings.Contains(rest, "-exec-") {
				role = "executor"
			}
			count[class+", "+role+":"+story]++
		}
		return count
	}
}

func states(ctx context.Context, w *world.World) (map[string]string, error) {
	list, err := w.Dynamic.Resource(world.Applications).Namespace("play").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, app := range list.Items {
		found[app.GetName()], _, _ = unstructured.NestedString(app.Object, "status", "applicationState", "state")
	}
	return found, nil
}

// left waits until so many pods are there, and no more.
func left(ctx context.Context, t *testing.T, w *world.World, want int) {
	t.Helper()
	got := 0
	err := world.Until(ctx, "the pods", func() (bool, error) {
		list, err := w.Core.CoreV1().Pods("play").List(ctx, metav1.ListOptions{})
		if err == nil {
			got = len(list.Items)
		}
		return got == want, err
	})
	if err != nil {
		t.Fatalf("%d pods, want %d: %v", got, want, err)
	}
}

// ready holds that the beat of the nodes is heard: their leases are renewed, and the control plane has put no taint on them.
func ready(ctx context.Context, t *testing.T, w *world.World) {
	t.Helper()
	err := world.Until(ctx, "a renewed lease", func() (bool, error) {
		lease, err := w.Core.CoordinationV1().Leases("kube-node-lease").Get(ctx, "node-0", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && lease.Spec.RenewTime.After(lease.CreationTimestamp.Add(2*time.Second)), err
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := w.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 4 {
		t.Fatalf("%d nodes: %v", len(nodes.Items), err)
	}
	for _, n := range nodes.Items {
		if len(n.Spec.Taints) > 0 {
			t.Errorf("%s has taints: %v", n.Name, n.Spec.Taints)
		}
	}
}
