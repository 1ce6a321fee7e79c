package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

func sentinelApp(app *apacheApp) {
	app.Labels = map[string]string{sentinelLabel: "true"}
	app.Spec = sparkv1.ApplicationSpec{}
	app.Spec.RuntimeVersions.SparkVersion = "dummy"
	app.Spec.SparkConf = map[string]string{"sentinel.dummy.number": "1", "mine": "stays"}
}

// apacheOperator is one that serves SparkApplications of spark.apache.org alone, and runs not yet.
func (w *world) apacheOperator(cfg config.Configuration) *Operator {
	w.t.Helper()
	op, err := newOperator(w.t.Context(), cfg, w.environment())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Add(w.t.Context(), op, kinds.ApacheApplications(op.Settings), time.Now); err != nil {
		w.t.Fatal(err)
	}
	return op
}

// healthOf fetches the answer of a probe.
func healthOf(t testing.TB, address string) (int, string) {
	t.Helper()
	code, body, err := fetch(t.Context(), "http://"+address+"/healthz")
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// TestSentinel: it is written to again and again, nothing else is done about it, and when it goes it is forgotten (W16).
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.namespace)
	cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, 50*time.Millisecond
	cfg.Health.BindAddress = freeAddress(t)
	app := w.apacheApp("sentinel", sentinelApp, func(app *apacheApp) { app.Finalizers = []string{theirFinalizer} })
	op := w.apacheOperator(cfg)
	w.run(op)
	rounds := func(more int64) {
		t.Helper()
		from := w.getApache("sentinel").Generation
		testkit.Wait(t, "more writes", func(context.Context) error {
			if is := w.getApache("sentinel").Generation; is < from+more {
				return fmt.Errorf("generation %d, from %d; the log is\n%s", is, from, w.log)
			}
			return nil
		})
	}
	rounds(5)
	if code, body := healthOf(t, cfg.Health.BindAddress); code != http.StatusOK {
		t.Errorf("healthz says %d %s", code, body)
	}
	is := w.getApache("sentinel")
	if is.Status.CurrentState != nil || is.Status.Operator != nil || len(is.Finalizers) > 0 || is.Spec.SparkConf["mine"] != "stays" {
		t.Errorf("it was written otherwise: finalizers %v, conf %v, status %+v", is.Finalizers, is.Spec.SparkConf, is.Status)
	}
	var pods corev1.PodList
	if err := w.api.List(t.Context(), &pods, client.InNamespace(w.namespace)); err != nil || len(pods.Items) > 0 {
		t.Errorf("it was launched: %d pods, %v", len(pods.Items), err)
	}

	if err := w.api.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	testkit.Wait(t, "it to be forgotten", func(context.Context) error { return want(len(op.sentinels.keys()), 0) })
	if code, body := healthOf(t, cfg.Health.BindAddress); code != http.StatusOK {
		t.Errorf("after it went healthz says %d %s", code, body)
	}

	// One of the same name is another, and one that loses the label is none.
	w.apacheApp("sentinel", sentinelApp)
	rounds(2)
	again := w.getApache("sentinel")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`))
	if err := w.api.Patch(t.Context(), again, patch); err != nil {
		t.Fatal(err)
	}
	testkit.Wait(t, "it to be no sentinel", func(context.Context) error { return want(len(op.sentinels.keys()), 0) })
}

// TestSentinelUnasked: without the switch nothing is written to one, and it is not launched all the same.
func TestSentinelUnasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.namespace)
	cfg.Apache.Sentinels.Delay.Duration = time.Millisecond
	w.apacheApp("sentinel", sentinelApp)
	op := w.apacheOperator(cfg)
	w.run(op)
	testkit.Wait(t, "it to be looked at", func(context.Context) error { return want(len(op.sentinels.keys()), 1) })
	for range 3 {
		op.sentinels.round(t.Context())
	}
	if is := w.getApache("sentinel"); is.Generation != 1 || is.Status.CurrentState != nil {
		t.Errorf("it was written: generation %d, %+v", is.Generation, is.Status)
	}
}

// TestSentinelIsNoneWhenItIsWrittenTo: what is changed under the operator's hands is written to where it is a sentinel still, and only there.
func TestSentinelIsNoneWhenItIsWrittenTo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(*world)
		want      map[string]string
	}{
		"an application has its name": {func(w *world) {
			w.remove(w.getApache("a"))
			w.apacheApp("a", func(app *apacheApp) { app.Spec.SparkConf = map[string]string{"mine": "stays"} })
		}, map[string]string{"mine": "stays"}},
		"it is one": {func(w *world) { w.patchApache("a", `{"metadata":{"labels":null}}`) },
			map[string]string{"sentinel.dummy.number": "1", "mine": "stays"}},
		"another sentinel has its name": {func(w *world) {
			w.remove(w.getApache("a"))
			w.apacheApp("a", sentinelApp)
		}, map[string]string{"sentinel.dummy.number": "2", "mine": "stays"}},
		"it is another's as well": {func(w *world) { w.patchApache("a", `{"spec":{"sparkConf":{"other":"too"}}}`) },
			map[string]string{"sentinel.dummy.number": "2", "mine": "stays", "other": "too"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cfg := testConfig(w.namespace)
			cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, time.Hour
			w.apacheApp("a", sentinelApp)
			env := w.environment()
			var armed atomic.Bool
			env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(request *http.Request) (*http.Response, error) {
					if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/sparkapplications/a") && armed.CompareAndSwap(true, false) {
						test.meanwhile(w)
					}
					return next.RoundTrip(request)
				})
			})
			op, err := newOperator(t.Context(), cfg, env)
			if err != nil {
				t.Fatal(err)
			}
			if err := Add(t.Context(), op, kinds.ApacheApplications(op.Settings), time.Now); err != nil {
				t.Fatal(err)
			}
			w.run(op)
			testkit.Wait(t, "it to be looked at", func(context.Context) error { return want(len(op.sentinels.keys()), 1) })
			armed.Store(true)
			op.sentinels.round(t.Context())
			if armed.Load() {
				t.Error("nothing was written")
			}
			if diff := cmp.Diff(test.want, w.getApache("a").Spec.SparkConf); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// probed is a set of one sentinel that is told what the world does.
type probed struct {
	*sentinels
	key     sentinelKey
	now     time.Time
	writes  int64
	fail    error
	cached  int64
	missing error
	passes  uint64
}

func newProbed() *probed {
	cfg := testConfig()
	cfg.Apache.Sentinels.Enabled = true
	p := &probed{sentinels: newSentinels(settings.New(cfg), logr.Discard()), now: time.Unix(1000, 0)}
	p.clock = func() time.Time { return p.now }
	p.key = sentinelKey{"a", namespaced("b", "c")}
	p.seen(p.key, 1, func() *sentinel {
		return &sentinel{
			write: func(_ context.Context, number int64) (int64, error) {
				if p.fail != nil {
					return 0, p.fail
				}
				p.writes++
				return p.writes + 1, nil
			},
			cached: func(context.Context) (int64, error) { return p.cached, p.missing },
			ended:  func() uint64 { return p.passes },
		}
	})
	return p
}

// TestSentinelThatIsLost: what is lost, and what only looks like it.
func TestSentinelThatIsLost(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "sparkapplications"}, "c")
	for _, test := range []struct {
		name string
		// before the second round, a delay after the first
		then func(*probed)
		want string
	}{
		{"it came back", func(p *probed) { p.seen(p.key, 2, nil) }, ""},
		{"the watch is stuck", func(p *probed) { p.cached, p.passes = 1, 100 }, "the watch"},
		{"the queue is stuck", func(p *probed) { p.cached = 2 }, "no pass"},
		{"much is to do", func(p *probed) { p.cached, p.passes = 2, 100 }, ""},
		{"there is time left", func(p *probed) { p.now = p.now.Add(-time.Second) }, ""},
		{"it went, and the write tells", func(p *probed) { p.missing, p.fail = gone, gone }, ""},
		{"it went, and the pass tells", func(p *probed) { p.forget(p.key) }, ""},
		{"the cache is being stopped", func(p *probed) { p.missing = errors.New("stopped") }, ""},
		{"it is not asked for any more", func(p *probed) {
			off := p.settings.Now()
			off.Apache.Sentinels.Enabled = false
			p.settings.Become(off)
		}, ""},
	} {
		p := newProbed()
		p.round(t.Context())
		if err := p.check(nil); err != nil {
			t.Errorf("%s: after the first round %v", test.name, err)
		}
		p.now = p.now.Add(time.Minute)
		test.then(p)
		p.round(t.Context())
		err := p.check(nil)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if test.want == "" {
			continue
		}
		p.seen(p.key, 5, nil)
		if err := p.check(nil); err != nil {
			t.Errorf("%s: after all of it came back %v", test.name, err)
		}
	}
}

// TestSentinelThatCannotBeWritten says nothing about the operator, however long.
func TestSentinelThatCannotBeWritten(t *testing.T) {
	p := newProbed()
	p.fail = errors.New("the API server is away")
	for range 5 {
		p.round(t.Context())
		p.now = p.now.Add(time.Hour)
	}
	if err := p.check(nil); err != nil || len(p.keys()) != 1 {
		t.Errorf("%v; %v are known", err, p.keys())
	}
}

// TestSentinelsAreBounded: however many there are, a round writes to so many.
func TestSentinelsAreBounded(t *testing.T) {
	p := newProbed()
	one := p.known[p.key]
	for i := range 10 * maxSentinels {
		p.seen(sentinelKey{"a", namespaced("z", fmt.Sprint(i))}, 1, func() *sentinel { return &sentinel{write: one.write, cached: one.cached, ended: one.ended} })
	}
	p.round(t.Context())
	if p.writes != maxSentinels {
		t.Errorf("%d writes, want %d", p.writes, maxSentinels)
	}
}

func TestIsSentinel(t *testing.T) {
	for value, is := range map[string]bool{"true": true, "false": false, "": false, "True": false} {
		if got := isSentinel(&metav1.ObjectMeta{Labels: map[string]string{sentinelLabel: value}}); got != is {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// TestSentinelThatIsACluster: the same holds for the other kind.
func TestSentinelThatIsACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.namespace)
	cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, 50*time.Millisecond
	sentinel := &sparkv1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sentinel", Labels: map[string]string{sentinelLabel: "true"}}}
	sentinel.Spec.RuntimeVersions.SparkVersion = "dummy"
	w.create(sentinel)
	op, err := newOperator(w.t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(w.t.Context(), op, kinds.SparkClusters(op.Settings), time.Now); err != nil {
		t.Fatal(err)
	}
	w.run(op)
	is := &sparkv1.SparkCluster{}
	testkit.Wait(t, "writes to it", func(ctx context.Context) error {
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(sentinel), is); err != nil {
			return err
		}
		if is.Generation < 4 {
			return fmt.Errorf("generation %d; the log is\n%s", is.Generation, w.log)
		}
		return nil
	})
	var sets appsv1.StatefulSetList
	if err := w.api.List(t.Context(), &sets, client.InNamespace(w.namespace)); err != nil || len(sets.Items) > 0 || is.Status.CurrentState != nil {
		t.Errorf("%d StatefulSets, state %+v, %v", len(sets.Items), is.Status.CurrentState, err)
	}
	if err := op.sentinels.check(nil); err != nil {
		t.Error(err)
	}
}
