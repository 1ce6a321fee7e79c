package explain_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorsThatCannotBeMade checks that the condition, an event and the status report within seconds why Spark
// cannot create executors, although Spark itself does not report it. The reason disappears when the problem is solved.
// The application stays RUNNING.
func TestExecutorsThatCannotBeMade(t *testing.T) {
	t.Parallel()

	const enforce = "pod-security.kubernetes.io/enforce"
	for _, test := range []struct {
		name   string
		app    func(*world.World, *v1beta2.SparkApplication)
		hinder func(*world.World) (lift func())
		reason string
		says   string
	}{
		{"quota", nil, func(w *world.World) func() {
			kit.NeedsControllers(w.T, world.QuotaFigures)
			quota := &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "one-pod"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
			}
			w.Create(quota)
			// The quota is enforced once the controller manager has written the usage, and the API server has seen
			// that. A dry run before that succeeds.
			kit.Wait(w.T, "the quota to count", func(ctx context.Context) error {
				if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
					return err
				}

				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "try"},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				}
				if err := w.API.Create(ctx, pod, client.DryRunAll); !apierrors.IsForbidden(err) ||
					!strings.Contains(err.Error(), "exceeded quota") {
					return fmt.Errorf("another pod: %s; the quota has %v", fmt.Sprint(err), quota.Status)
				}
				return nil
			})
			return func() { w.Remove(quota) }
		}, apianswer.ReasonQuota, "exceeded quota: one-pod"},
		{"pod security", nil, func(w *world.World) func() {
			w.Label(enforce, `"restricted"`)
			return func() { w.Label(enforce, "null") }
		}, apianswer.ReasonPodSecurity, "violates PodSecurity"},
		{"service account", func(_ *world.World,
			app *v1beta2.SparkApplication) {
			app.Spec.Executor.ServiceAccount = new("absent")
		}, func(w *world.World) func() {
			return func() {
				w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "absent"}})
			}
		}, apianswer.ReasonServiceAccount, "absent"},
		{"priority class", func(w *world.World, app *v1beta2.SparkApplication) {
			app.Spec.Executor.PriorityClassName = new(w.Namespace)
		}, func(w *world.World) func() {
			return func() {
				class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Value: 1}
				w.Create(class)
				w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), class) })
			}
		}, apianswer.ReasonForbidden, "no PriorityClass with name"},
		{"limit range", nil, func(w *world.World) func() {
			limits := &corev1.LimitRange{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "small"},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")},
				}}},
			}
			w.Create(limits)
			return func() { w.Remove(limits) }
		}, apianswer.ReasonForbidden, "maximum memory usage per Pod is 100Mi"},
		{"rights", nil, nil, apianswer.ReasonForbidden, `service account "default" has no right to get pods`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.RunReal()

			if test.hinder != nil {
				w.GrantSparkRights()
			}

			app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
				if test.app != nil {
					test.app(w, app)
				}
			})
			driver := w.DriverOf(app, 1)

			lift := w.GrantSparkRights
			if test.hinder != nil {
				lift = test.hinder(w)
			}

			w.Ready(driver.Name)
			w.WaitReady("pi", test.reason, "executors cannot be created: ", test.says)
			w.WaitEvent(app, "SparkExecutorPending", test.reason, test.says)

			got := w.Get("pi")
			if got.Status.AppState.State != v1beta2.ApplicationStateRunning || got.Status.AppState.ErrorMessage != "" ||
				got.Status.Operator.ShortSince == nil {
				t.Errorf("the state is %+v, short since %v", got.Status.AppState, got.Status.Operator.ShortSince)
			}

			lift()
			w.WaitReady("pi", "AwaitingExecutors", "0 of 1 executors run")

			if reported := w.EventsOf(app)["SparkExecutorPending"]; strings.Contains(reported, "\n") {
				t.Errorf("reported more than once: %s", reported)
			}

			w.Create(w.Executor(app, driver, 1))
			w.Kubelet("pi-exec-1", corev1.PodRunning, world.Running())
			w.WaitReady("pi", "Running", "")

			if got := w.Get("pi").Status.Operator.ShortSince; got != nil {
				t.Errorf("short since %v", got)
			}
		})
	}
}

// TestExecutorLostToAQuota checks an application that had all its executors, lost one of them, and cannot replace it
// because of a quota. The condition Degraded and an event report the quota.
func TestExecutorLostToAQuota(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	w.GrantSparkRights()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	executor := w.Executor(app, driver, 1)
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	w.WaitReady("pi", "Running")
	w.NoPods()
	w.Kubelet(executor.Name, corev1.PodFailed, scene.Exited(1, "boom"))
	w.WaitEvent(app, "SparkExecutorPending", apianswer.ReasonQuota, "no-pods", "-exec-2")

	got := w.Get("pi")
	if ready, degraded := world.Condition(got, "Ready"),
		world.Condition(got, "Degraded"); ready.Status != metav1.ConditionTrue ||
		degraded.Reason != apianswer.ReasonQuota {
		t.Errorf("Ready is %+v, Degraded %+v", ready, degraded)
	}
}

// TestNoDryRunsWhileExecutorsExist checks that an application with all its executors causes no dry runs. An application
// whose executors cannot be created causes only one dry run every few seconds, however many of its executors start and
// end. A dry run causes no status write.
func TestNoDryRunsWhileExecutorsExist(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})
	well := w.Application("well", scene.WithDriver)
	driver := w.DriverOf(well, 1)
	w.Ready(driver.Name)
	w.Create(w.Executor(well, driver, 1))
	w.Kubelet("well-exec-1", corev1.PodRunning, world.Running())
	w.WaitReady("well", "Running")

	begun := time.Now()
	app := w.Application("pi", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(1000)) })
	driver = w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitReady("pi", apianswer.ReasonForbidden) // the account has no rights; the pod itself is valid
	// From here on nothing more is reported.
	before, status := made.Since(nil), w.Get("pi").Status
	for i := range 30 {
		w.Create(w.Executor(app, driver, i+1))
	}

	// while none runs, the counts are debounced longer (debounce.go)
	w.Kubelet("pi-exec-1", corev1.PodRunning, world.Running())
	kit.Wait(t, "the executors to be counted", func(context.Context) error {
		counts := w.Get("pi").Status.Executors
		if counts == nil {
			return errors.New("there are none")
		}
		return world.Want(*counts, v1beta2.ExecutorCounts{Pending: 29, Running: 1})
	})

	most := 1 + int(time.Since(begun)/lifecycle.QueryInterval(0))

	all := made.Since(nil)
	if asked := all["POST localsubjectaccessreviews"]; asked < 1 || asked > most {
		t.Errorf("%d requests for a review of rights, want at most %d", asked, most)
	}

	if pods := all["POST pods"]; pods < 3 || pods > 2+most {
		t.Errorf("%d requests to create pods, want two drivers and at most %d dry runs", pods, most)
	}

	if events := made.Since(before)["POST events"]; events > 1 {
		t.Errorf("%d events", events)
	}

	if now := w.Get("pi").Status; now.Operator.ShortSince.Time != status.Operator.ShortSince.Time ||
		world.Condition(w.Get("pi"), "Ready").Reason != apianswer.ReasonForbidden {
		t.Errorf("short since %v, then %v; Ready is %+v", status.Operator.ShortSince, now.Operator.ShortSince,
			world.Condition(w.Get("pi"), "Ready"))
	}

	if w.Get("well").Status.Operator.ShortSince != nil {
		t.Error("an application with all its executors is short of them")
	}

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}

	if len(pods.Items) != 2+1+30 {
		t.Errorf("there are %d pods: a dry run has created an executor", len(pods.Items))
	}
}
