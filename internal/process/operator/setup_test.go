package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestEndpoints(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Health.BindAddress, cfg.Metrics.BindAddress = kit.FreeAddress(t), kit.FreeAddress(t)

	op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.Run(op)

	for url, says := range map[string]string{
		"http://" + cfg.Health.BindAddress + "/healthz":  "ok",
		"http://" + cfg.Health.BindAddress + "/readyz":   "ok",
		"http://" + cfg.Metrics.BindAddress + "/metrics": "controller_runtime_max_concurrent_reconciles",
	} {
		kit.Wait(t, url, func(ctx context.Context) error {
			status, body, err := world.Fetch(ctx, url)
			if err == nil && (status != http.StatusOK || !strings.Contains(body, says)) {
				err = fmt.Errorf("status %d: %s", status, body)
			}
			return err
		})
	}
}

// TestNotReadyBeforeTheCachesAreFull checks that an operator is alive but not ready while the API server answers
// discovery requests but does not answer lists of pods.
func TestNotReadyBeforeTheCachesAreFull(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Health.BindAddress = kit.FreeAddress(t)
	env := w.Environment()
	hold := make(chan struct{})
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return blockingTransport{next, hold} })

	op, err := operator.NewEmpty(w.T.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.Run(op)

	probe := func(path string, status int) {
		kit.Wait(t, fmt.Sprintf("%s to answer %d", path, status), func(ctx context.Context) error {
			got, _, err := world.Fetch(ctx, "http://"+cfg.Health.BindAddress+path)
			return errors.Join(err, world.Want(got, status))
		})
	}
	probe("/healthz", http.StatusOK)
	probe("/readyz", http.StatusInternalServerError)
	close(hold)
	probe("/readyz", http.StatusOK)
}

// blockingTransport is a transport that blocks all requests for pods until the test releases them.
type blockingTransport struct {
	next http.RoundTripper
	hold chan struct{}
}

func (h blockingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/pods") {
		select {
		case <-h.hold:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return h.next.RoundTrip(request)
}

func TestLeaderGivesUpItsLease(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace = new(true), w.Namespace
	start := func() func() {
		op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
		if err != nil {
			t.Fatal(err)
		}

		if err := operator.Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
			t.Fatal(err)
		}
		return w.Run(op)
	}
	holder := func() string {
		lease := &coordinationv1.Lease{}

		key := client.ObjectKey{Namespace: w.Namespace, Name: cfg.LeaderElection.LeaseName}
		if err := w.API.Get(t.Context(), key, lease); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}

		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	stopFirst := start()

	w.Application("one")
	w.WaitState("one", v1beta2.ApplicationStateSubmitted)

	first := holder()

	start() // on standby
	stopFirst()

	if got := holder(); got == first {
		t.Errorf("%s still holds the lease after it ended", first)
	}

	w.Application("two")
	w.WaitState("two", v1beta2.ApplicationStateSubmitted)

	if got := holder(); got == first || got == "" {
		t.Errorf("the lease is held by %q, before that by %q", got, first)
	}
}

// TestWorkInFlightIsFinished checks that a pass that is in flight when the process receives SIGTERM still writes its
// status.
func TestWorkInFlightIsFinished(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	kind := tiny.Kind()
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		select {
		case entered <- struct{}{}:
			<-leave
		case <-leave:
		}
		return tiny.Decide(app, seen, now)
	}
	stop := w.RunTiny(kind)
	w.Application("pi")
	<-entered

	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()

	kit.Wait(t, "the shutdown to begin", func(context.Context) error {
		return world.Want(strings.Contains(w.Log.String(), "waiting for all workers to finish"), true)
	})
	close(leave)
	<-stopped

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
		t.Errorf("the state is %q", state)
	}
}

func TestOnlyItsNamespaces(t *testing.T) {
	t.Parallel()
	served, other := world.New(t), world.New(t)
	served.RunTiny(tiny.Kind())
	other.Application("theirs")
	served.Application("ours")
	served.WaitState("ours", v1beta2.ApplicationStateSubmitted)

	if state := other.Get("theirs").Status.AppState.State; state != "" {
		t.Errorf("the operator acted in another namespace: %s", state)
	}
}

// TestAllNamespaces checks an operator that serves all namespaces. It is not parallel, since no other test may run an
// operator or create an application meanwhile.
func TestAllNamespaces(t *testing.T) {
	a, b := world.New(t), world.New(t)

	op, err := operator.NewEmpty(t.Context(), world.Config(), a.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(t.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	stop := a.Run(op)
	for _, w := range []*world.World{a, b} {
		w.Application("pi")
		w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	}

	stop()
}

func TestStartWithoutAnAPIServer(t *testing.T) {
	env := operator.Environment{Rest: &rest.Config{Host: "https://127.0.0.1:1"}, Registerer: prometheus.NewRegistry()}
	if _, err := operator.NewEmpty(t.Context(), world.Config(), env); err == nil {
		t.Error("no error")
	}
}

// TestKindThatIsNotServed checks that an operator waits for a missing definition, but not for ever. An installation
// creates the definitions and the operator at the same time, so a definition may be served later than the operator
// starts.
func TestKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Controller.CacheSyncTimeout.Duration = 10 * time.Millisecond

	op, err := operator.NewEmpty(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	gvk := v1beta2.GroupVersion.WithKind("SparkApplication")
	if err := op.WaitServed(t.Context(), gvk, nil); err != nil {
		t.Errorf("waitServed for a served kind returns %v", err)
	}

	gvk.Kind = "SparkNothing"
	if err := op.WaitServed(t.Context(), gvk, nil); err == nil || !strings.Contains(err.Error(), "install its CustomResourceDefinition") {
		t.Errorf("waitServed for a kind that is never served returns %v", err)
	}

	if !strings.Contains(w.Log.String(), "Waiting until the API server serves a kind") {
		t.Error("the operator did not log that it waits")
	}
}

// slowStatus is a client that delays each status write until the operator stops. Before a write, it stops the operator
// with the function in the field stop. It sends the write when the function in the field stopped reports that the
// operator has begun to stop its workers.
type slowStatus struct {
	client.Client
	stop    func()
	stopped func() bool
}

func (c *slowStatus) Status() client.SubResourceWriter { return slowWriter{c.Client.Status(), c} }

type slowWriter struct {
	client.SubResourceWriter
	patches *slowStatus
}

func (s slowWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	go s.patches.stop()

	for !s.patches.stopped() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s.SubResourceWriter.Patch(ctx, object, patch, options...)
}

// TestLastEvents checks that the Events of a pass are written even if the pass ends after the operator has stopped
// everything else.
func TestLastEvents(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	slow := &slowStatus{stopped: func() bool { return strings.Contains(w.Log.String(), "waiting for all workers to finish") }}
	stopping := make(chan struct{})
	slow.stop = sync.OnceFunc(func() { close(stopping) })
	stop := w.RunTiny(tiny.Kind(), func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { slow.Client = c; return slow }
	})
	w.Application("pi")
	<-stopping
	stop()

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
		t.Fatalf("the state is %q", state)
	}

	var events corev1.EventList
	if err := w.API.List(t.Context(), &events, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}

	if len(events.Items) != 1 || events.Items[0].Reason != "TinyLaunched" {
		t.Errorf("the events are %+v, want only the event of the launch", events.Items)
	}
}
