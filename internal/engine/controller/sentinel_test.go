package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// healthOf returns the HTTP status and the body of the answer of /healthz at an address.
func healthOf(t testing.TB, address string) (int, string) {
	t.Helper()

	code, body, err := world.Fetch(t.Context(), "http://"+address+"/healthz")
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// TestSentinel checks that the operator writes to a sentinel periodically and does not launch it. The operator changes
// nothing else in the sentinel, with one exception: it removes the Java operator's finalizer. When a sentinel is
// deleted, the operator writes to it no more.
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, 50*time.Millisecond
	cfg.Health.BindAddress = kit.FreeAddress(t)
	app := resources.CreateApache(w, "sentinel", resources.SentinelApp,
		func(app *resources.ApacheApp) { app.Finalizers = []string{resources.TheirFinalizer} })
	op := w.ApacheOperator(cfg)
	w.Run(op)

	rounds := func(more int64) {
		t.Helper()

		from := resources.GetApache(w, "sentinel").Generation
		kit.Wait(t, "more writes", func(context.Context) error {
			if generation := resources.GetApache(w, "sentinel").Generation; generation < from+more {
				return fmt.Errorf("generation %d, from %d; the log is\n%s", generation, from, w.Log)
			}
			return nil
		})
	}
	rounds(5)

	if code, body := healthOf(t, cfg.Health.BindAddress); code != http.StatusOK {
		t.Errorf("healthz returns %d %s", code, body)
	}

	live := resources.GetApache(w, "sentinel")
	if live.Status.CurrentState != nil || live.Status.Operator != nil || len(live.Finalizers) > 0 ||
		live.Spec.SparkConf["mine"] != "stays" {
		t.Errorf("the sentinel has unexpected changes: finalizers %v, conf %v, status %+v", live.Finalizers,
			live.Spec.SparkConf, live.Status)
	}

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil || len(pods.Items) > 0 {
		t.Errorf("the sentinel was launched: %d pods, %v", len(pods.Items), err)
	}

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the deleted sentinel to be forgotten",
		func(context.Context) error { return world.Want(op.Sentinels.Known(), 0) })

	if code, body := healthOf(t, cfg.Health.BindAddress); code != http.StatusOK {
		t.Errorf("after the deletion of the sentinel healthz returns %d %s", code, body)
	}

	// A new object with the same name is a new sentinel. An object that loses the label is no longer a sentinel.
	resources.CreateApache(w, "sentinel", resources.SentinelApp)
	rounds(2)

	again := resources.GetApache(w, "sentinel")

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`))
	if err := w.API.Patch(t.Context(), again, patch); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the object to be forgotten as a sentinel",
		func(context.Context) error { return world.Want(op.Sentinels.Known(), 0) })
}

// TestSentinelWithoutTheSwitch checks that the operator neither writes to nor launches a sentinel if sentinels are
// switched off.
func TestSentinelWithoutTheSwitch(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Apache.Sentinels.Delay.Duration = time.Millisecond

	resources.CreateApache(w, "sentinel", resources.SentinelApp)
	op := w.ApacheOperator(cfg)
	w.Run(op)
	kit.Wait(t, "a pass over the sentinel", func(context.Context) error { return world.Want(op.Sentinels.Known(), 1) })

	for range 3 {
		op.Sentinels.ProbeAll(t.Context())
	}

	if live := resources.GetApache(w, "sentinel"); live.Generation != 1 || live.Status.CurrentState != nil {
		t.Errorf("the sentinel was changed: generation %d, %+v", live.Generation, live.Status)
	}
}

// TestSentinelIsNoneWhenItIsWrittenTo checks a sentinel that somebody changes or replaces just before the operator
// writes to it. The write has an effect only if the object is still a sentinel.
func TestSentinelIsNoneWhenItIsWrittenTo(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		meanwhile func(*world.World)
		want      map[string]string
	}{
		"an application replaces the sentinel": {func(w *world.World) {
			w.Remove(resources.GetApache(w, "a"))
			resources.CreateApache(w, "a",
				func(app *resources.ApacheApp) { app.Spec.SparkConf = map[string]string{"mine": "stays"} })
		}, map[string]string{"mine": "stays"}},
		"the sentinel becomes an application": {func(w *world.World) {
			resources.PatchApache(w, "a",
				`{"metadata":{"labels":null}}`)
		},
			map[string]string{"sentinel.dummy.number": "1", "mine": "stays"}},
		"another sentinel replaces the sentinel": {func(w *world.World) {
			w.Remove(resources.GetApache(w, "a"))
			resources.CreateApache(w, "a", resources.SentinelApp)
		}, map[string]string{"sentinel.dummy.number": "2", "mine": "stays"}},
		"somebody else changes the sentinel": {func(w *world.World) {
			resources.PatchApache(w, "a",
				`{"spec":{"sparkConf":{"other":"too"}}}`)
		},
			map[string]string{"sentinel.dummy.number": "2", "mine": "stays", "other": "too"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			cfg := world.Config(w.Namespace)
			cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, time.Hour

			resources.CreateApache(w, "a", resources.SentinelApp)
			env := w.Environment()
			var armed atomic.Bool
			env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
					if request.Method == http.MethodPatch &&
						strings.HasSuffix(request.URL.Path, "/sparkapplications/a") &&
						armed.CompareAndSwap(true, false) {
						test.meanwhile(w)
					}
					return next.RoundTrip(request)
				})
			})

			op, err := operator.NewEmpty(t.Context(), cfg, env)
			if err != nil {
				t.Fatal(err)
			}

			if err := operator.Add(t.Context(), op, configured.For(kinds.ApacheApplication).Build(op.Settings, nil),
				time.Now); err != nil {
				t.Fatal(err)
			}

			w.Run(op)
			kit.Wait(t, "a pass over the sentinel",
				func(context.Context) error { return world.Want(op.Sentinels.Known(), 1) })
			armed.Store(true)
			op.Sentinels.ProbeAll(t.Context())

			if armed.Load() {
				t.Error("the operator sent no write")
			}

			if diff := cmp.Diff(test.want, resources.GetApache(w, "a").Spec.SparkConf); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSentinelThatIsACluster checks that the operator handles a sentinel that is a SparkCluster like one that is a
// SparkApplication.
func TestSentinelThatIsACluster(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, 50*time.Millisecond
	object := &sparkv1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "sentinel",
		Labels: map[string]string{sentinel.Label: "true"}}}
	object.Spec.RuntimeVersions.SparkVersion = "dummy"
	w.Create(object)

	op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, configured.For(kinds.SparkCluster).Build(op.Settings, nil),
		time.Now); err != nil {
		t.Fatal(err)
	}

	w.Run(op)

	live := &sparkv1.SparkCluster{}
	kit.Wait(t, "writes to the sentinel", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
			return err
		}

		if live.Generation < 4 {
			return fmt.Errorf("generation %d; the log is\n%s", live.Generation, w.Log)
		}
		return nil
	})

	var sets appsv1.StatefulSetList
	if err := w.API.List(t.Context(), &sets, client.InNamespace(w.Namespace)); err != nil || len(sets.Items) > 0 ||
		live.Status.CurrentState != nil {
		t.Errorf("%d StatefulSets, state %+v, %v", len(sets.Items), live.Status.CurrentState, err)
	}

	if err := op.Sentinels.Check(nil); err != nil {
		t.Error(err)
	}
}
