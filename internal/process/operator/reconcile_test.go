package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestLifeFromCreationToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())
	app := w.Application("pi")

	w.waitState("pi", v1beta2.ApplicationStateSubmitted)

	driver := w.waitPod("pi-driver")
	for _, object := range []client.Object{&corev1.ConfigMap{}, &corev1.Service{}} {
		name := map[bool]string{true: "pi-conf", false: "pi-svc"}[fmt.Sprintf("%T", object) == "*v1.ConfigMap"]
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
			t.Error(err)
		} else if created := object.GetCreationTimestamp(); driver.CreationTimestamp.Before(&created) {
			t.Errorf("%s was created after the pod that mounts it", name)
		}
	}

	w.kubelet("pi-driver", corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	w.kubelet("pi-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)

	kit.Wait(t, "the events", func(context.Context) error {
		reported := w.EventsOf(app)
		for _, want := range []string{"TinyLaunched", "TinyRunning", "TinyRetained"} {
			if _, found := reported[want]; !found {
				return fmt.Errorf("no event %s among %v", want, reported)
			}
		}
		return nil
	})

	for name, want := range map[string]float64{
		"spark_application_count": 1, "spark_application_submit_count": 1, "spark_application_success_count": 1,
		"spark_application_failure_count": 0, "spark_application_failed_submission_count": 0, "spark_application_running_count": 0,
		"spark_application_submit_latency_seconds_histogram": 1, "spark_application_start_latency_seconds_histogram": 1,
		// The launch, the run and the end: a status is written only when it changed.
		"sparkoperator_status_writes_total": 3,
	} {
		w.waitMetric(name, want)
	}
}

func TestRunningIsCountedWhileItRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())
	app := w.Application("pi")
	w.kubelet("pi-driver", corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	kit.Wait(t, "the gauge to rise", func(context.Context) error { return want(w.metric("spark_application_running_count"), 1.0) })

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the gauge to fall", func(context.Context) error { return want(w.metric("spark_application_running_count"), 0.0) })
}

func want[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// metric returns the sum of a metric over all its labels. For a histogram it counts the observations.
func (w *world) metric(name string) float64 {
	w.T.Helper()
	return w.metricWhere(name, func([]*dto.LabelPair) bool { return true })
}

// metricOf returns the sum of a metric over those samples whose given label has the given value.
func (w *world) metricOf(name, label, value string) float64 {
	w.T.Helper()
	return w.metricWhere(name, func(labels []*dto.LabelPair) bool {
		return slices.ContainsFunc(labels, func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() == value })
	})
}

func (w *world) metricWhere(name string, counts func([]*dto.LabelPair) bool) (sum float64) {
	w.T.Helper()

	families, err := w.registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}

	for _, family := range families {
		if family.GetName() != name {
			continue
		}

		for _, m := range family.GetMetric() {
			if counts(m.GetLabel()) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// waitMetric waits until a metric has the wanted value. Tests have to wait, since the operator updates its metrics only
// after it has stored the status.
func (w *world) waitMetric(name string, want float64) {
	w.T.Helper()
	kit.Wait(w.T, name, func(context.Context) error {
		if got := w.metric(name); got != want {
			return fmt.Errorf("%s is %v, want %v", name, got, want)
		}
		return nil
	})
}

func TestDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())
	app := w.Application("pi")
	driver := w.waitPod("pi-driver")
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(driver)
	w.WaitGone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-conf"}})
	w.WaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-svc"}})
}

// errCrashed is the error that every write of a crashed operator returns.
var errCrashed = errors.New("the operator has crashed")

// crashing is a client that simulates a crash of its operator at the n-th write, either before or after the API server
// carries out this write. It sends no writes after the crash.
type crashing struct {
	client.Client
	at     int
	after  bool
	killed chan struct{}

	mu   sync.Mutex
	seen int
}

func (c *crashing) write(do func() error) error {
	c.mu.Lock()
	c.seen++
	n := c.seen
	c.mu.Unlock()

	if n < c.at {
		return do()
	}

	if n == c.at {
		defer close(c.killed)

		if c.after {
			_ = do()
		}
	}
	return errCrashed
}

func (c *crashing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, isEvent := object.(*corev1.Event); isEvent {
		return c.Client.Create(ctx, object, options...)
	}
	return c.write(func() error { return c.Client.Create(ctx, object, options...) })
}

func (c *crashing) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, object, options...) })
}

func (c *crashing) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	return c.write(func() error { return c.Client.DeleteAllOf(ctx, object, options...) })
}

func (c *crashing) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return c.write(func() error { return c.Client.Apply(ctx, object, options...) })
}

func (c *crashing) Status() client.SubResourceWriter { return &crashingStatus{c.Client.Status(), c} }

type crashingStatus struct {
	client.SubResourceWriter
	crashing *crashing
}

func (c *crashingStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return c.crashing.write(func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}

// TestCrashAtEveryWrite kills the operator before or after each write of a submission. It checks that the next operator
// finishes the submission. If the first operator has created the driver pod, the next operator uses that pod.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	const writes = 4 // ConfigMap, Service, pod, status
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("at-%d-%t", at, after)
			crash := &crashing{at: at, after: after, killed: make(chan struct{})}
			stop := w.runTiny(tiny.Kind(), func(env *Environment) {
				env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
			})
			w.Application(name)
			<-crash.killed
			stop()

			var first corev1.Pod

			key := client.ObjectKey{Namespace: w.Namespace, Name: name + "-driver"}
			if err := client.IgnoreNotFound(w.API.Get(t.Context(), key, &first)); err != nil {
				t.Fatal(err)
			}

			stop = w.runTiny(tiny.Kind())
			w.waitState(name, v1beta2.ApplicationStateSubmitted)

			if driver := w.waitPod(name + "-driver"); first.UID != "" && driver.UID != first.UID {
				t.Errorf("%s: the driver was created twice", name)
			}

			w.kubelet(name+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
			w.waitState(name, v1beta2.ApplicationStateCompleted)
			stop()
		}
	}
}

func TestMissingDriverIsConfirmedLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tiny.Kind())
	w.Application("pi")
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Delete(t.Context(), w.waitPod("pi-driver")); err != nil {
		t.Fatal(err)
	}

	app := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if app.Status.SubmissionID != "Lost" {
		t.Errorf("the application failed with the reason %q, want Lost", app.Status.SubmissionID)
	}
}

func TestPanicStopsNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind := tiny.Kind()
	kind.Decide = typed.Decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Name == "poison" {
			panic("no such case")
		}
		return tiny.Decide(app, seen, now)
	})
	w.runTiny(kind)
	w.Application("poison")
	kit.Wait(t, "the panic to be logged with its object", func(context.Context) error {
		if log := w.Log.String(); !strings.Contains(log, "no such case") || !strings.Contains(log, "poison") {
			return errors.New("not logged")
		}
		return nil
	})
	w.Application("healthy")
	w.waitState("healthy", v1beta2.ApplicationStateSubmitted)
}

func TestRenderErrorIsTheApplications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind := tiny.Kind()
	kind.Render = typed.Renders(func(*v1beta2.SparkApplication, lifecycle.Action, time.Time) (submit.Objects, error) {
		return submit.Objects{}, errors.New(`spec.driver.memory: "lots" is not a size`)
	})
	w.runTiny(kind)
	w.Application("pi")

	app := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if diff := cmp.Diff([2]string{lifecycle.ReasonInvalid, `spec.driver.memory: "lots" is not a size`},
		[2]string{app.Status.SubmissionID, app.Status.AppState.ErrorMessage}); diff != "" {
		t.Errorf("cause (-want +got):\n%s", diff)
	}
}

func TestWarningsAreEmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind := tiny.Kind()
	kind.Render = typed.Renders(func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
		objects, err := tiny.Render(app, action, now)
		objects.Warnings = []string{"this image may be too old"}
		return objects, err
	})
	w.runTiny(kind)
	app := w.Application("pi")
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	kit.Wait(t, "the warning", func(context.Context) error {
		return want(w.EventsOf(app)["SubmissionWarning"], "this image may be too old")
	})
}
