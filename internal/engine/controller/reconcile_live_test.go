package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestLifeFromCreationToEnd(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	app := w.Application("pi")

	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)

	driver := w.WaitPod("pi-driver")
	for _, object := range []client.Object{&corev1.ConfigMap{}, &corev1.Service{}} {
		name := map[bool]string{true: "pi-conf", false: "pi-svc"}[fmt.Sprintf("%T", object) == "*v1.ConfigMap"]
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
			t.Error(err)
		} else if created := object.GetCreationTimestamp(); driver.CreationTimestamp.Before(&created) {
			t.Errorf("%s was created after the pod that mounts it", name)
		}
	}

	w.Kubelet("pi-driver", corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.Kubelet("pi-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)

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
		"spark_application_failure_count": 0, "spark_application_failed_submission_count": 0,
		"spark_application_running_count":                    0,
		"spark_application_submit_latency_seconds_histogram": 1, "spark_application_start_latency_seconds_histogram": 1,
		// The launch, the run and the end: a status is written only when it changed.
		"sparkoperator_status_writes_total": 3,
	} {
		w.WaitMetric(name, want)
	}
}

func TestRunningIsCountedWhileItRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	app := w.Application("pi")
	w.Kubelet("pi-driver", corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	kit.Wait(t, "the gauge to rise",
		func(context.Context) error { return world.Want(w.Metric("spark_application_running_count"), 1.0) })

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the gauge to fall",
		func(context.Context) error { return world.Want(w.Metric("spark_application_running_count"), 0.0) })
}

func TestDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	app := w.Application("pi")
	driver := w.WaitPod("pi-driver")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(driver)
	w.WaitGone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-conf"}})
	w.WaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-svc"}})
}

// TestCrashAtEveryWrite kills the operator before or after each write of a submission. It checks that the next operator
// finishes the submission. If the first operator has created the driver pod, the next operator uses that pod.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	const writes = 4 // ConfigMap, Service, pod, status
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("at-%d-%t", at, after)
			crash := &crashrig.Crashing{At: at, After: after, Killed: make(chan struct{})}
			stop := w.RunTiny(tiny.Kind(), func(env *operator.Environment) {
				env.Wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
			})
			w.Application(name)
			<-crash.Killed
			stop()

			var first corev1.Pod

			key := client.ObjectKey{Namespace: w.Namespace, Name: name + "-driver"}
			if err := client.IgnoreNotFound(w.API.Get(t.Context(), key, &first)); err != nil {
				t.Fatal(err)
			}

			stop = w.RunTiny(tiny.Kind())
			w.WaitState(name, v1beta2.ApplicationStateSubmitted)

			if driver := w.WaitPod(name + "-driver"); first.UID != "" && driver.UID != first.UID {
				t.Errorf("%s: the driver was created twice", name)
			}

			w.Kubelet(name+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
			w.WaitState(name, v1beta2.ApplicationStateCompleted)
			stop()
		}
	}
}

func TestMissingDriverIsConfirmedLive(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunTiny(tiny.Kind())
	w.Application("pi")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Delete(t.Context(), w.WaitPod("pi-driver")); err != nil {
		t.Fatal(err)
	}

	app := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if app.Status.SubmissionID != "Lost" {
		t.Errorf("the application failed with the reason %q, want Lost", app.Status.SubmissionID)
	}
}

func TestPanicStopsNobodyElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind := tiny.Kind()
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		if app.Name == "poison" {
			panic("no such case")
		}
		return tiny.Decide(app, seen, now)
	}
	w.RunTiny(kind)
	w.Application("poison")
	kit.Wait(t, "the panic to be logged with its object", func(context.Context) error {
		if log := w.Log.String(); !strings.Contains(log, "no such case") || !strings.Contains(log, "poison") {
			return errors.New("not logged")
		}
		return nil
	})
	w.Application("healthy")
	w.WaitState("healthy", v1beta2.ApplicationStateSubmitted)
}

func TestRenderErrorIsTheApplications(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind := tiny.Kind()
	kind.OnRender = func(*v1beta2.SparkApplication, lifecycle.Action, time.Time) (submit.Objects, error) {
		return submit.Objects{}, errors.New(`spec.driver.memory: "lots" is not a size`)
	}
	w.RunTiny(kind)
	w.Application("pi")

	app := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if diff := cmp.Diff([2]string{lifecycle.ReasonInvalid, `spec.driver.memory: "lots" is not a size`},
		[2]string{app.Status.SubmissionID, app.Status.AppState.ErrorMessage}); diff != "" {
		t.Errorf("cause (-want +got):\n%s", diff)
	}
}

func TestWarningsAreEmitted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind := tiny.Kind()
	kind.OnRender = func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects,
		error) {
		objects, err := tiny.Render(app, action, now)
		objects.Warnings = []string{"this image may be too old"}
		return objects, err
	}
	w.RunTiny(kind)
	app := w.Application("pi")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	kit.Wait(t, "the warning", func(context.Context) error {
		return world.Want(w.EventsOf(app)["SubmissionWarning"], "this image may be too old")
	})
}
