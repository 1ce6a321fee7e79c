package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
	"github.com/sparkoperator/spark-operator/bench/world/worldtest"
)

// TestOnce has real writes of a few applications sent again: all of them are carried out, and they are the same ones.
func TestOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the embedded control plane needs Linux")
	}
	if testing.Short() {
		t.Skip("-short: starts a control plane")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := worldtest.New(ctx, t, world.Options{Scheduler: true, Bodies: true})
	const apps = 6
	carry(ctx, t, w, load.Spec{Classes: []load.Class{{Name: "a", Namespace: "team", Namespaces: 2, Count: apps, Executors: 2, Run: load.For(200 * time.Millisecond), Fail: 0.3}}})
	plan := read(t, w)
	if len(plan.Applications) != apps || plan.Stale != 0 || len(plan.Watches) == 0 {
		t.Fatalf("%d applications, %d stale owners, %d watches", len(plan.Applications), plan.Stale, len(plan.Watches))
	}
	t.Logf("left out: %v; watches: %v", plan.Left, plan.Watches)
	stop, err := node.Keep(ctx, w, node.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var results []Result
	for i, workers := range []int{1, 3, 6} {
		plan.Bound = i == 2
		results = append(results, once(ctx, t, w, plan, fmt.Sprintf("replay-%d-", i), workers))
	}
	if results[2].Bound != 1 {
		t.Errorf("with a wait for bindings: %+v", results[2])
	}
	for i, r := range results {
		t.Logf("%+v: %.1f applications a second", r, r.Rate())
		if r.Failed > 0 || len(r.Answered) != count(plan) || r.CPU["kube-apiserver"] == 0 || r.Writes+r.Gone != count(plan) || r.Writes < count(plan)*9/10 {
			t.Errorf("result %d of %d planned writes: %+v", i, count(plan), r)
		}
	}
	for i := range results {
		if diff := cmp.Diff(kinds(t, w, "team-"), kinds(t, w, fmt.Sprintf("replay-%d-team-", i))); diff != "" {
			t.Errorf("replay %d wrote other things: %s\nits events: %v", i, diff, eventsOf(t, w, fmt.Sprintf("replay-%d-team-", i)))
		}
	}
}

// once replays a plan, and holds that nothing is left of it.
func once(ctx context.Context, t *testing.T, w *world.World, plan *Plan, prefix string, workers int) Result {
	t.Helper()
	stage, err := plan.Stage(ctx, w, prefix)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stage.Run(ctx, workers)
	if err := errors.Join(err, stage.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range stage.namespaces {
		slices, err := w.Core.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(slices.Items) > 0 {
			t.Errorf("%s has %d EndpointSlices: %v", namespace, len(slices.Items), err)
		}
		pods, err := w.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) > 0 {
			t.Errorf("%s has %d pods: %v", namespace, len(pods.Items), err)
		}
	}
	return r
}

// carry has an operator and nodes carry a load to its end.
func carry(ctx context.Context, t *testing.T, w *world.World, spec load.Spec) {
	t.Helper()
	op, err := w.StartOperator(ctx, world.OperatorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := node.Start(ctx, w, node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, dyn, err := w.Client(audit.LoadAgent)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range spec.Namespaces() {
		if err := w.Namespace(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load.Send(ctx, dyn, spec, 4); err != nil {
		t.Fatal(err)
	}
	err = world.Until(ctx, "all lives to be over in the audit log", func() (bool, error) {
		account, err := audit.ReadFile(w.AuditLog(), audit.Scope{}, audit.ReadAccount)
		return len(account.Lags.Driver) == 2*spec.Count(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Stop(); err != nil { // with its last events
		t.Fatal(err)
	}
	if err := nodes.Stop(); err != nil {
		t.Fatal(err)
	}
}

// open0 opens the audit log from its begin, until the end of the test.
func open0(t *testing.T, w *world.World) io.Reader {
	t.Helper()
	log, err := os.Open(filepath.Clean(w.AuditLog()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func read(t *testing.T, w *world.World) *Plan {
	t.Helper()
	plan, err := audit.ReadFile(w.AuditLog(), audit.Scope{Namespace: func(n string) bool { return strings.HasPrefix(n, "team-") }}, Read)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func count(p *Plan) (n int) {
	for _, a := range p.Applications {
		n += len(a.Writes)
	}
	return n
}

// eventsOf says who created which events in namespaces of a prefix.
func eventsOf(t *testing.T, w *world.World, prefix string) (all []string) {
	t.Helper()
	err := audit.Read(open0(t, w), func(e *audit.Event) error {
		if e.Write() && e.Kind() == "create events" && strings.HasPrefix(e.Object.Namespace, prefix) {
			all = append(all, fmt.Sprintf("%s: %s/%s", e.UserAgent, e.Object.Namespace, e.Object.Name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// kinds are what the bench's actors wrote with success in namespaces of a prefix; deletions that found nothing the second time are left out.
func kinds(t *testing.T, w *world.World, prefix string) map[string]int {
	t.Helper()
	got := map[string]int{}
	err := audit.Read(open0(t, w), func(e *audit.Event) error {
		ours := e.Actor() != audit.Controllers && e.Actor() != audit.Scheduler && e.UserAgent != world.Agent && !strings.HasPrefix(e.UserAgent, "kube-apiserver")
		if ours && e.Write() && e.OK() && strings.HasPrefix(e.Object.Namespace, prefix) && e.Verb != "delete" {
			got[e.Kind()]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
