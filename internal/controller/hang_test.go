package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// after counts so much time in ticks.
func (h *hangs) after(d time.Duration) {
	for range d / hangTick {
		h.tick()
	}
}

// TestHangs: what lasts too long is reported by readiness and in the log, and by liveness once it has lasted for longer
// still; what rests, or has ended, is not.
func TestHangs(t *testing.T) {
	t.Parallel()
	log := &lines{}
	logger, err := telemetry.NewLogger(log, "info", "text")
	if err != nil {
		t.Fatal(err)
	}
	hogs := 0
	h := &hangs{logger: logger, spread: func(n int) { hogs = n }}
	key := types.NamespacedName{Namespace: "team", Name: "app"}
	end := h.pass("SparkApplication", key, time.Minute)
	watch := h.decode("a watch of pods")
	defer watch.Drop()
	holds := func(when string, ready, alive bool) {
		t.Helper()
		if got := h.ready(nil) == nil; got != ready {
			t.Errorf("%s: ready %t", when, got)
		}
		if got := h.alive(nil) == nil; got != alive {
			t.Errorf("%s: alive %t", when, got)
		}
	}
	h.after(time.Minute + passSlow - hangTick)
	holds("a pass that is within its time", true, true)
	h.after(hangTick)
	holds("a pass that is not", false, true)
	if got := log.String(); !strings.Contains(got, "SparkApplication") || !strings.Contains(got, "team") || !strings.Contains(got, "app") {
		t.Errorf("the log does not name the object: %s", got)
	}
	h.after(hangLimit - time.Minute - passSlow)
	holds("a pass that does not end", false, false)
	if err := h.alive(nil); err == nil || !strings.Contains(err.Error(), "SparkApplication team/app") {
		t.Errorf("%v, want it to name the object", err)
	}
	if hogs != 1 {
		t.Errorf("%d take a core, want one", hogs)
	}
	end()
	holds("a pass that has ended", true, true)

	watch.Begin()
	h.after(decodeSlow)
	holds("an object that is being decoded", false, true)
	watch.End()
	holds("one that was decoded", true, true)
	h.after(time.Hour)
	holds("a watch on which nothing comes", true, true)
	watch.Begin()
	h.after(hangLimit)
	holds("an object whose decoding does not end", false, false)
	if lines := strings.Count(log.String(), errHangs.Error()); lines != 3 {
		t.Errorf("%d lines in the log, want one for each", lines)
	}
}

// TestHogs: work that goes on while the process uses a core is given one of its own, and no longer than it goes on.
func TestHogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		used, share, hogs := time.Duration(0), time.Duration(1), 0
		h := &hangs{spread: func(n int) { hogs = n }, cpu: func() time.Duration { used += share * hangTick; return used }}
		ticks := func(n int, when string, want int) {
			t.Helper()
			for range n {
				time.Sleep(hangTick)
				h.tick()
			}
			if hogs != want {
				t.Errorf("%s: %d take a core, want %d", when, hogs, want)
			}
		}
		ticks(10, "much to do, and nothing lasts", 0)
		first := h.pass("SparkApplication", types.NamespacedName{Name: "a"}, time.Minute)
		ticks(1, "a pass that has just begun", 0)
		ticks(1, "one that goes on", 1)
		second := h.pass("SparkApplication", types.NamespacedName{Name: "b"}, time.Minute)
		ticks(3, "two", 2)
		second()
		ticks(1, "one has ended", 1)
		share = 0
		ticks(1, "a pass that waits for others", 0)
		first()
	})
}

// hanging is an operator of the tiny kind with its probes.
func (w *world) hanging(kind Kind) (op *Operator, probe func(path string, status int)) {
	w.t.Helper()
	cfg := testConfig(w.namespace)
	cfg.Health.BindAddress = freeAddress(w.t.(*testing.T))
	op, err := newOperator(w.t.Context(), cfg, w.environment())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Add(w.t.Context(), op, kind, time.Now); err != nil {
		w.t.Fatal(err)
	}
	w.run(op)
	return op, func(path string, status int) {
		w.t.Helper()
		testkit.Wait(w.t, path, func(ctx context.Context) error {
			got, _, err := fetch(ctx, "http://"+cfg.Health.BindAddress+path)
			return errors.Join(err, want(got, status))
		})
	}
}

// TestHangingPass: a decision that does not end, which no context ends, is noticed by both probes, and goes on beside another namespace's passes.
func TestHangingPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind, hold, at := tinyKind(), make(chan struct{}), make(chan struct{}, 1)
	kind.Decide = decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Name == "hangs" {
			at <- struct{}{}
			<-hold
		}
		return tinyDecide(app, seen, now)
	})
	op, probe := w.hanging(kind)
	probe("/readyz", http.StatusOK)
	w.application("hangs")
	<-at
	op.hangs.after(time.Minute + passSlow)
	probe("/readyz", http.StatusInternalServerError)
	probe("/healthz", http.StatusOK)
	op.hangs.after(hangLimit)
	probe("/healthz", http.StatusInternalServerError)
	close(hold)
	go func() {
		for range at { // its later passes
		}
	}()
	probe("/healthz", http.StatusOK)
	probe("/readyz", http.StatusOK)
}

// TestHangingNamespace: passes of one namespace that never end do not keep another namespace's application from its
// driver, though they have every worker.
func TestHangingNamespace(t *testing.T) {
	t.Parallel()
	hostile, calm := newWorld(t), newWorld(t)
	kind, hold, at := tinyKind(), make(chan struct{}), make(chan struct{}, 100)
	kind.Decide = decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Namespace == hostile.namespace {
			at <- struct{}{}
			<-hold
		}
		return tinyDecide(app, seen, now)
	})
	cfg := testConfig(hostile.namespace, calm.namespace)
	op, err := newOperator(t.Context(), cfg, hostile.environment())
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(t.Context(), op, kind, time.Now); err != nil {
		t.Fatal(err)
	}
	hostile.run(op)
	for i := range 3 * cfg.Controller.Workers {
		hostile.application(fmt.Sprint("hangs-", i))
	}
	for range firstLooks(cfg.Controller.Workers) { // as many as are at first looks at a time
		<-at
	}
	calm.application("pi")
	calm.waitPod("pi-driver")
	close(hold)
}

// slow is a SparkApplication that decodes for as long as a test wants.
type slow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              slowSpec `json:"spec"`
}

type slowSpec struct{ text []byte }

var slowHold = make(chan struct{})

func (s *slowSpec) UnmarshalJSON(data []byte) error {
	if strings.Contains(string(data), "hangs") {
		<-slowHold
	}
	s.text = data
	return nil
}

func (s slowSpec) MarshalJSON() ([]byte, error) { return s.text, nil }

func (s *slow) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

type slowList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []slow `json:"items"`
}

func (s *slowList) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

// TestHangingDecode: an object that the cache does not come to the end of is noticed, whether it comes by a watch or by a list.
func TestHangingDecode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scheme := runtime.NewScheme()
	kind := v1beta2.GroupVersion.WithKind("SparkApplication")
	scheme.AddKnownTypeWithName(kind, &slow{})
	scheme.AddKnownTypeWithName(v1beta2.GroupVersion.WithKind("SparkApplicationList"), &slowList{})
	metav1.AddToGroupVersion(scheme, v1beta2.GroupVersion)
	noStreams := func(next http.RoundTripper) http.RoundTripper { return unstreamed{next} }
	for name, wrap := range map[string]func(http.RoundTripper) http.RoundTripper{"by watch": nil, "by list": noStreams} {
		h := &hangs{}
		rc := testkit.Rest(t)
		if wrap != nil {
			rc.Wrap(wrap)
		}
		client, err := rest.HTTPClientFor(rc)
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.newCache(rc, cache.Options{Scheme: scheme, HTTPClient: client, DefaultNamespaces: map[string]cache.Config{w.namespace: {}}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "by watch" {
			if _, err := c.GetInformer(t.Context(), &slow{}, cache.BlockUntilSynced(false)); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _ = c.Start(t.Context()) }()
		w.application(strings.ReplaceAll(name, " ", "-"), func(app *v1beta2.SparkApplication) { app.Spec.MainClass = new("hangs") })
		if name == "by list" {
			if _, err := c.GetInformer(t.Context(), &slow{}, cache.BlockUntilSynced(false)); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Wait(t, name, func(context.Context) error {
			h.after(decodeSlow)
			if h.ready(nil) == nil {
				return errors.New("nothing hangs")
			}
			return nil
		})
		if err := h.ready(nil); !strings.Contains(err.Error(), strings.TrimPrefix(name, "by ")) {
			t.Errorf("%v, want it to say that it came %s", err, name)
		}
		h.after(hangLimit)
		if h.alive(nil) == nil {
			t.Errorf("%s: alive", name)
		}
		close(slowHold)
		testkit.Wait(t, name+", decoded", func(context.Context) error { return h.alive(nil) })
		slowHold = make(chan struct{})
	}
}

// unstreamed answers as an API server does that streams no lists.
type unstreamed struct{ next http.RoundTripper }

func (u unstreamed) RoundTrip(request *http.Request) (*http.Response, error) {
	if !request.URL.Query().Has("sendInitialEvents") {
		return u.next.RoundTrip(request)
	}
	const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`
	return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(invalid)), Request: request}, nil
}
