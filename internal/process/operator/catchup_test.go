package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// laggingWatch is a transport from an operator to the API server. It can suppress the watch events of one resource, so
// that the operator's cache falls behind.
type laggingWatch struct {
	next     http.RoundTripper
	resource string

	mu   sync.Mutex
	hear chan struct{} // closed when events arrive again; nil while they do
}

// over sets the transport that sends the requests, and returns the laggingWatch.
func (d *laggingWatch) over(next http.RoundTripper) http.RoundTripper {
	d.next = next
	return d
}

func (d *laggingWatch) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if err == nil && path.Base(request.URL.Path) == d.resource && request.URL.Query().Get("watch") != "" {
		response.Body = &behindBody{response.Body, request.Context(), d}
	}
	return response, err
}

// begin suppresses all watch events until the returned function is called.
func (d *laggingWatch) begin() (end func()) {
	hear := make(chan struct{})

	d.mu.Lock()
	defer d.mu.Unlock()

	d.hear = hear
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()

		d.hear = nil
		close(hear)
	})
}

type behindBody struct {
	io.ReadCloser
	ctx    context.Context
	client *laggingWatch
}

func (b *behindBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.client.mu.Lock()
	hear := b.client.hear
	b.client.mu.Unlock()

	if hear != nil {
		select {
		case <-hear:
		case <-b.ctx.Done():
		}
	}
	return n, err
}

// TestNextLeaderCatchesUp checks that a new leader does not revert an edit that the previous leader carried out,
// although the new leader's cache does not show the edit yet.
func TestNextLeaderCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	cfg := testConfig(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.RetryPeriod.Duration = new(true), w.Namespace, 200*time.Millisecond
	cfg.Controller.Workers = 1 // so that the passes run one after the other
	stop := w.runClusters(cfg, time.Now)
	w.sparkCluster("c", workers(1, 1, 1))
	w.sparkCluster("d")
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	w.waitCluster("d", sparkv1.ClusterRunningHealthy, readyWorkers(1))

	hears := &laggingWatch{resource: "sparkclusters"}
	env := w.environment()
	env.Rest.Wrap(hears.over)

	next, err := newOperator(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	next.optional.Interval = 100 * time.Millisecond
	if err := AddWhenServed(t.Context(), next, kinds.SparkClusters(next.Settings, nil), time.Now); err != nil {
		t.Fatal(err)
	}

	w.run(next)
	kit.Wait(t, "the next leader's cache to contain both clusters", func(ctx context.Context) error {
		for _, name := range []string{"c", "d"} {
			if err := next.GetClient().Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &sparkCluster{}); err != nil {
				return err
			}
		}
		return nil
	})

	end := hears.begin()
	defer end()

	w.patchCluster("c", `{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":3,"maxWorkers":3}}}}`)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))
	set, before := w.set("c-worker"), w.memberUIDs("c")
	kit.Wait(t, "the next leader's cache to contain the current StatefulSet", func(ctx context.Context) error {
		known := identity.MetadataOnly(dependents.StatefulSet)
		kinds, caches := next.optional.Full()

		at := slices.Index(kinds, dependents.StatefulSet)
		if at < 0 {
			return errors.New("its cache of sets is not full yet")
		}

		if err := caches[at].Get(ctx, client.ObjectKeyFromObject(set), known); err != nil {
			return err
		}
		return want(known.Generation, set.Generation)
	})
	stop()
	<-next.Elected()
	// The new leader has one worker and makes passes over both clusters in turn. When it has restored a deleted Service
	// of d twice, it has also made a pass over c.
	for _, service := range []string{"d-master-svc", "d-worker-svc"} {
		deleted := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: service}}
		w.Remove(deleted)
		kit.Wait(t, service+" to be put back", func(ctx context.Context) error { return w.API.Get(ctx, client.ObjectKeyFromObject(deleted), deleted) })
	}

	end()
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))

	if now := w.set("c-worker"); now.Generation != set.Generation {
		t.Errorf("the set has %d pods: it is at generation %d, and was at %d", *now.Spec.Replicas, now.Generation, set.Generation)
	}

	if diff := cmp.Diff(before, w.memberUIDs("c")); diff != "" {
		t.Errorf("pods were replaced:\n%s", diff)
	}
}

// lateCache is a client whose cache shows an old state of one application and no pods.
type lateCache struct {
	client.Client
	app *v1beta2.SparkApplication
}

func (l *lateCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if app, ok := object.(*v1beta2.SparkApplication); ok {
		l.app.DeepCopyInto(app)
		return nil
	}
	return l.Client.Get(ctx, key, object, options...)
}

func (l *lateCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return nil
	}
	return l.Client.List(ctx, list, options...)
}

// TestStaleEndDeletesNothingNew checks a new leader whose cache still shows that an application has ended, although the
// previous leader has restarted it. The new leader keeps the auxiliary objects of the new driver. If an application has
// really ended, the new leader deletes its auxiliary objects.
func TestStaleEndDeletesNothingNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.runReal()
	app := w.Application("pi", scene.WithDriver)
	w.runningDriver(app, 1)
	w.execute(w.driverOf(app, 1), scene.Exited(0, ""))
	over := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.Patch("pi", `{"spec":{"arguments":["100"]}}`)
	w.runningDriver(app, 2)
	service := w.uiService("pi", func(s *corev1.Service) error { return want(identity.Attempt(s), 2) })

	stop()

	op, lead := w.runIdle(), &fence.Leadership{}
	lead.Extend(time.Now().Add(time.Hour))

	next := &lateCache{op.GetClient(), over}
	r := w.reconciler(op, func(o *controller.Options) { o.Lead, o.Client = lead, next })

	kit.Wait(t, "the caches to show the new run", func(ctx context.Context) error {
		known := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Service"))
		if err := next.Get(ctx, client.ObjectKeyFromObject(service), known); err != nil {
			return err
		}
		return want(identity.Attempt(known), 2)
	})

	look := func() reconcile.Result {
		t.Helper()

		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: identity.Key(app)})
		if err != nil {
			t.Error(err)
		}
		return result
	}
	for pass := range 2 {
		if result := look(); result.RequeueAfter != time.Second {
			t.Errorf("pass %d requeues after %s", pass, result.RequeueAfter)
		}

		if now := w.uiService("pi"); now.UID != service.UID || now.DeletionTimestamp != nil {
			t.Fatalf("the new run's Service was deleted: %+v", now.ObjectMeta)
		}
	}

	over.ResourceVersion = w.Get("pi").ResourceVersion // as if it had not been restarted

	look()
	w.WaitGone(service)
}
