package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// freeAddress returns an address on which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func fetch(ctx context.Context, url string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Health.BindAddress, cfg.Metrics.BindAddress = freeAddress(t), freeAddress(t)

	op, err := newOperator(w.T.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.run(op)

	for url, says := range map[string]string{
		"http://" + cfg.Health.BindAddress + "/healthz":  "ok",
		"http://" + cfg.Health.BindAddress + "/readyz":   "ok",
		"http://" + cfg.Metrics.BindAddress + "/metrics": "controller_runtime_max_concurrent_reconciles",
	} {
		kit.Wait(t, url, func(ctx context.Context) error {
			status, body, err := fetch(ctx, url)
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
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Health.BindAddress = freeAddress(t)
	env := w.environment()
	hold := make(chan struct{})
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return blockingTransport{next, hold} })

	op, err := newOperator(w.T.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	if err := Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.run(op)

	probe := func(path string, status int) {
		kit.Wait(t, fmt.Sprintf("%s to answer %d", path, status), func(ctx context.Context) error {
			got, _, err := fetch(ctx, "http://"+cfg.Health.BindAddress+path)
			return errors.Join(err, want(got, status))
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
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace = new(true), w.Namespace
	start := func() func() {
		op, err := newOperator(w.T.Context(), cfg, w.environment())
		if err != nil {
			t.Fatal(err)
		}

		if err := Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
			t.Fatal(err)
		}
		return w.run(op)
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
	w.waitState("one", v1beta2.ApplicationStateSubmitted)

	first := holder()

	start() // on standby
	stopFirst()

	if got := holder(); got == first {
		t.Errorf("%s still holds the lease after it ended", first)
	}

	w.Application("two")
	w.waitState("two", v1beta2.ApplicationStateSubmitted)

	if got := holder(); got == first || got == "" {
		t.Errorf("the lease is held by %q, before that by %q", got, first)
	}
}

// TestWorkInFlightIsFinished checks that a pass that is in flight when the process receives SIGTERM still writes its
// status.
func TestWorkInFlightIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	kind := tiny.Kind()
	kind.Decide = typed.Decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		select {
		case entered <- struct{}{}:
			<-leave
		case <-leave:
		}
		return tiny.Decide(app, seen, now)
	})
	stop := w.runTiny(kind)
	w.Application("pi")
	<-entered

	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()

	kit.Wait(t, "the shutdown to begin", func(context.Context) error {
		return want(strings.Contains(w.Log.String(), "waiting for all workers to finish"), true)
	})
	close(leave)
	<-stopped

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
		t.Errorf("the state is %q", state)
	}
}

func TestOnlyItsNamespaces(t *testing.T) {
	t.Parallel()
	served, other := newWorld(t), newWorld(t)
	served.runTiny(tiny.Kind())
	other.Application("theirs")
	served.Application("ours")
	served.waitState("ours", v1beta2.ApplicationStateSubmitted)

	if state := other.Get("theirs").Status.AppState.State; state != "" {
		t.Errorf("the operator acted in another namespace: %s", state)
	}
}

// TestAllNamespaces checks an operator that serves all namespaces. It is not parallel, since no other test may run an
// operator or create an application meanwhile.
func TestAllNamespaces(t *testing.T) {
	a, b := newWorld(t), newWorld(t)

	op, err := newOperator(t.Context(), testConfig(), a.environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := Add(t.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	stop := a.run(op)
	for _, w := range []*world{a, b} {
		w.Application("pi")
		w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	}

	stop()
}

func TestStartWithoutAnAPIServer(t *testing.T) {
	env := Environment{Rest: &rest.Config{Host: "https://127.0.0.1:1"}, Registerer: prometheus.NewRegistry()}
	if _, err := newOperator(t.Context(), testConfig(), env); err == nil {
		t.Error("no error")
	}
}

// TestKindThatIsNotServed checks that an operator waits for a missing definition, but not for ever. An installation
// creates the definitions and the operator at the same time, so a definition may be served later than the operator
// starts.
func TestKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Controller.CacheSyncTimeout.Duration = 10 * time.Millisecond

	op, err := newOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	gvk := v1beta2.GroupVersion.WithKind("SparkApplication")
	if err := op.waitServed(t.Context(), gvk, nil); err != nil {
		t.Errorf("waitServed for a served kind returns %v", err)
	}

	gvk.Kind = "SparkNothing"
	if err := op.waitServed(t.Context(), gvk, nil); err == nil || !strings.Contains(err.Error(), "install its CustomResourceDefinition") {
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
	w := newWorld(t)
	slow := &slowStatus{stopped: func() bool { return strings.Contains(w.Log.String(), "waiting for all workers to finish") }}
	stopping := make(chan struct{})
	slow.stop = sync.OnceFunc(func() { close(stopping) })
	stop := w.runTiny(tiny.Kind(), func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { slow.Client = c; return slow }
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

// TestFirstPasses checks that first passes over new objects may occupy at most three quarters of the workers. The other
// workers are reserved for objects that are already running. Of fewer than four workers, it reserves no worker.
func TestFirstPasses(t *testing.T) {
	t.Parallel()

	for workers, want := range map[int]int{1: 1, 3: 3, 4: 3, 16: 12, 1024: 768} {
		if got := firstPasses(workers); got != want {
			t.Errorf("firstPasses returns %d of %d workers, want %d", got, workers, want)
		}
	}
}
