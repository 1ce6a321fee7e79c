package controller

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// noTraces are traces that are off.
var noTraces *telemetry.Traces

func jsonOf(t testing.TB, value any) []byte {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecordConflictsWithAnyChange(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	w.Application("pi")
	r := &Reconciler{
		kind: tiny.Kind(), dependents: dependents.Client{Client: w.API},
		reports: reports{traces: noTraces, metrics: telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})},
	}

	read := w.Get("pi")
	if err := w.API.Patch(t.Context(), w.Get("pi"),
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Fatal(err)
	}

	submitted := func(stored *v1beta2.SparkApplication) outcome {
		object := stored.DeepCopy()
		object.Status.SubmissionID = "x"
		return outcome{View: dependents.View{Owner: stored}, object: object}
	}
	if _, _, err := r.record(t.Context(), submitted(read)); !apierrors.IsConflict(err) {
		t.Errorf("a status was written over a change of the object: %v", err)
	}

	o := submitted(w.Get("pi"))
	if written, _, err := r.record(t.Context(), o); err != nil || !written {
		t.Errorf("written %t, %v", written, err)
	}

	if ahead, _ := r.writes.CacheIsStale(o.Owner, scene.Noon); !ahead {
		t.Error("the read from before the write does not count as stale")
	}

	if ahead, _ := r.writes.CacheIsStale(w.Get("pi"), scene.Noon); ahead {
		t.Error("the read of the write counts as stale")
	}
}

// frozen is a client that always returns the same application, like a stale cache.
type frozen struct {
	client.Client
	app *v1beta2.SparkApplication
}

func (f frozen) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	options ...client.GetOption) error {
	if app, ok := object.(*v1beta2.SparkApplication); ok {
		f.app.DeepCopyInto(app)
		return nil
	}
	return f.Client.Get(ctx, key, object, options...)
}

// List finds nothing, so the client shows no dependents either.
func (f frozen) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestStaleObjectEndsThePass checks that a reconciler that has written a status does not decide again from an older
// status.
func TestStaleObjectEndsThePass(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	decided := 0
	kind := tiny.Kind()
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		decided++
		return tiny.Decide(app, seen, now)
	}
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})

	r := &Reconciler{
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: kind, clock: time.Now,
		dependents: dependents.Client{Client: frozen{w.API, w.Get("pi")}, Live: w.API},
		reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
		term:       term{limit: passTimeout},
	}
	for pass := 1; pass <= 3; pass++ {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		if err != nil {
			t.Fatal(err)
		}

		if pass > 1 && result.RequeueAfter != requeueSoon {
			t.Errorf("pass %d requeues after %s, want %s", pass, result.RequeueAfter, requeueSoon)
		}
	}

	if decided != 1 {
		t.Errorf("decided %d times from one read", decided)
	}
}

// runningSamples has the custom resources with running attempts.
type runningSamples map[types.NamespacedName]bool

func (s runningSamples) SetRunning(_ string, key types.NamespacedName, runs bool) { s[key] = runs }

func (runningSamples) Of(client.Object, int32) (driver, executors statusv1.UsageSamples) { return }

// TestPassWithoutChangeTakesSamples checks that a pass over a live attempt requests samples of it, although it writes
// no status, and that the end of the attempt and the deletion of the custom resource end them. Samples began with a
// status write, so after a restart of the operator a Connect server whose status did not change had none.
func TestPassWithoutChangeTakesSamples(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	key := client.ObjectKeyFromObject(app)
	kind, next := tiny.Kind(), lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1}
	kind.OnDecide = func(*v1beta2.SparkApplication, lifecycle.Observed, time.Time) lifecycle.Plan {
		return lifecycle.Plan{Next: next}
	}

	metrics, sampled := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{}), runningSamples{}
	r := &Reconciler{
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: kind, clock: time.Now, samples: sampled,
		dependents: dependents.Client{Client: frozen{w.API, w.Get("pi")}, Live: w.API},
		reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
		term:       term{limit: passTimeout},
	}

	check := func(when string, want bool) {
		t.Helper()

		if runs, known := sampled[key]; !known || runs != want {
			t.Errorf("%s: samples of %v, want %t", when, sampled, want)
		}

		clear(sampled)
	}
	pass := func() {
		t.Helper()

		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}

	pass()
	check("the attempt runs", true)

	next.Phase = lifecycle.Done

	pass()
	check("the attempt has ended", false)

	r.forget(key)
	check("the application is deleted", false)

	if version := w.Get("pi").ResourceVersion; version != app.ResourceVersion {
		t.Error("a pass wrote the status")
	}
}

// TestDependentsMissingInTheCacheAreAdopted checks that a pass over an up-to-date object creates no second driver pod
// if the cache does not show the first one.
func TestDependentsMissingInTheCacheAreAdopted(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")

	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	for operator := 1; operator <= 3; operator++ { // each has caches of its own
		r := &Reconciler{
			scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: tiny.Kind(), clock: time.Now,
			dependents: dependents.Client{Client: frozen{w.API, app}, Live: w.API},
			reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
			term:       term{limit: passTimeout},
		}
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)}); err != nil {
			t.Fatal(err)
		}
	}

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}

	if len(pods.Items) != 1 {
		t.Errorf("%d driver pods", len(pods.Items))
	}
}

func TestNoPassDuringShutdown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	r := &Reconciler{} // any use would panic
	if result, err := r.Reconcile(ctx, reconcile.Request{}); err != nil || result != (reconcile.Result{}) {
		t.Errorf("%v, %v", result, err)
	}
}

func TestPassLimitIsShorterThanShutdown(t *testing.T) {
	for _, test := range [][2]time.Duration{{20 * time.Second, 15 * time.Second}, {time.Hour, passTimeout},
		{time.Second, 750 * time.Millisecond}} {
		if diff := cmp.Diff(test[1], passLimit(test[0])); diff != "" {
			t.Errorf("%s: %s", test[0], diff)
		}
	}
}

// TestWriteMissingAfterARestore checks how long passes wait for the event of our own write: at most 30 s if the API
// server's store was restored to an earlier state, but as long as necessary if only the cache is late.
func TestWriteMissingAfterARestore(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	now := scene.Noon
	cached := w.Get("pi")
	late := frozen{w.API, cached.DeepCopy()}
	r := &Reconciler{kind: tiny.Kind(), clock: func() time.Time { return now },
		dependents: dependents.Client{Client: late, Live: w.API}}
	stale := func(at time.Duration, want bool) {
		t.Helper()

		now = scene.Noon.Add(at)
		if got, err := r.stale(t.Context(), cached); err != nil || got != want {
			t.Errorf("after %s: stale is %t, %v", at, got, err)
		}
	}

	if err := w.API.Patch(t.Context(), app,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))); err != nil {
		t.Fatal(err)
	}

	r.writes.Wrote(app)

	for _, at := range []time.Duration{0, 29 * time.Second, 31 * time.Second, time.Minute, time.Hour} {
		stale(at, true)
	}

	restored := app.DeepCopy()
	restored.ResourceVersion = "9223372036854775807" // the write is newer than everything in the store
	r.writes.Wrote(restored)
	stale(2*time.Hour, true)
	stale(2*time.Hour+29*time.Second, true)
	stale(2*time.Hour+30*time.Second, false)
	stale(2*time.Hour+31*time.Second, false)
}

// TestWriteArrivesDuringThePass checks a pass that reads an object from the cache before the operator's own write
// arrives there. The pass must then continue with the new object. It must not wait for the event of the write, because
// NoEchoes may have dropped this event.
func TestWriteArrivesDuringThePass(t *testing.T) {
	t.Parallel()

	older := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pi", UID: "1",
		ResourceVersion: "10"}}
	written := older.DeepCopy()
	written.ResourceVersion, written.Status.SubmissionID = "11", "ours"
	r := &Reconciler{kind: tiny.Kind(), clock: func() time.Time { return scene.Noon },
		dependents: dependents.Client{Client: frozen{app: written}}}
	r.writes.Wrote(written)

	if !r.writes.IsEcho(written) {
		t.Error("the event of the operator's own write is no echo")
	}

	read := older.DeepCopy()
	if stale, err := r.stale(t.Context(), read); stale || err != nil {
		t.Errorf("stale is %t, %v", stale, err)
	}

	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("the pass continues with this object (-want +got):\n%s", diff)
	}

	r.dependents.Client = frozen{app: older} // the event of the write has not arrived yet
	r.writes.Wrote(written)

	if stale, err := r.stale(t.Context(), older.DeepCopy()); !stale || err != nil {
		t.Errorf("stale is %t, %v, although the cache never shows the write", stale, err)
	}

	if r.writes.IsEcho(written) {
		t.Error("the event that a pass waits for is an echo, so NoEchoes would drop it")
	}
}

// logsSoon are logs of which each is kept soon.
type logsSoon struct {
	Logs
	soon time.Duration
}

func (l logsSoon) Soon(types.NamespacedName, types.UID, int32) time.Duration { return l.soon }

// TestEndWaitsForLog checks that only the status write about the end of a driver waits for the driver's log.
func TestEndWaitsForLog(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		before, after lifecycle.Phase
		soon          time.Duration
		created       []client.Object
		want          time.Duration
	}{
		"the end":                     {before: lifecycle.Running, after: lifecycle.Done, soon: time.Second, want: time.Second},
		"the end, and a retry waits":  {before: lifecycle.Started, after: lifecycle.Waiting, soon: time.Second, want: time.Second},
		"the end, the log is kept":    {before: lifecycle.Running, after: lifecycle.Done},
		"the end, a retry is created": {before: lifecycle.Running, after: lifecycle.Launched, soon: time.Second, created: []client.Object{&corev1.Pod{}}},
		"the start":                   {before: lifecycle.Launched, after: lifecycle.Started, soon: time.Second},
		"after the end":               {before: lifecycle.Waiting, after: lifecycle.Done, soon: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pi", UID: "1"}}
			app.Status.Operator = &statusv1.OperatorStatus{Phase: string(test.before), Attempt: 1}
			o := outcome{View: dependents.View{Owner: app, Created: test.created}}
			o.plan.Next.Phase, o.plan.Next.Attempt = test.after, 1

			r := &Reconciler{kind: tiny.Kind(), logs: logsSoon{soon: test.soon}}
			if got := r.untilLog(o); got != test.want {
				t.Errorf("it waits %s, want %s", got, test.want)
			}
		})
	}
}

// TestActed checks that a pass with events of auxiliary objects, warnings, created objects or a rejection stores its
// status at once.
func TestActed(t *testing.T) {
	for _, test := range []struct {
		name string
		pass outcome
		want bool
	}{
		{"nothing", outcome{}, false},
		{"an event of an auxiliary object", outcome{events: []dialect.Event{{}}}, true},
		{"a warning", outcome{applied: apply.Outcome{Warnings: []string{"w"}}}, true},
		{"a created object", outcome{View: dependents.View{Created: []client.Object{&corev1.Pod{}}}}, true},
		{"a rejected deletion", outcome{applied: apply.Outcome{Rejected: &apianswer.Wait{}}}, true},
	} {
		if got := test.pass.acted(); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
}
