package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// grantSparkRights gives the drivers' service account the rights that Spark needs.
func (w *world) grantSparkRights() {
	kit.NeedsControllers(w.T, editRules)
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "able", Namespace: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: w.Namespace}},
	})
}

// label sets or removes a label of the test's namespace.
func (w *world) label(key string, value any) {
	w.T.Helper()

	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %v}}}`, key, value)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := w.API.Patch(w.T.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// TestExecutorsThatCannotBeMade checks that the condition, an event and the status report within seconds why Spark
// cannot create executors, although Spark itself does not report it. The reason disappears when the problem is solved.
// The application stays RUNNING.
func TestExecutorsThatCannotBeMade(t *testing.T) {
	t.Parallel()

	const enforce = "pod-security.kubernetes.io/enforce"
	for _, test := range []struct {
		name   string
		app    func(*world, *v1beta2.SparkApplication)
		hinder func(*world) (lift func())
		reason string
		says   string
	}{
		{"quota", nil, func(w *world) func() {
			kit.NeedsControllers(w.T, quotaFigures)
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
					ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "try"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				}
				if err := w.API.Create(ctx, pod, client.DryRunAll); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
					return fmt.Errorf("another pod: %s; the quota has %v", fmt.Sprint(err), quota.Status)
				}
				return nil
			})
			return func() { w.Remove(quota) }
		}, apianswer.ReasonQuota, "exceeded quota: one-pod"},
		{"pod security", nil, func(w *world) func() {
			w.label(enforce, `"restricted"`)
			return func() { w.label(enforce, "null") }
		}, apianswer.ReasonPodSecurity, "violates PodSecurity"},
		{"service account", func(_ *world, app *v1beta2.SparkApplication) { app.Spec.Executor.ServiceAccount = new("absent") }, func(w *world) func() {
			return func() {
				w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "absent"}})
			}
		}, apianswer.ReasonServiceAccount, "absent"},
		{"priority class", func(w *world, app *v1beta2.SparkApplication) { app.Spec.Executor.PriorityClassName = new(w.Namespace) }, func(w *world) func() {
			return func() {
				class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Value: 1}
				w.Create(class)
				w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), class) })
			}
		}, apianswer.ReasonForbidden, "no PriorityClass with name"},
		{"limit range", nil, func(w *world) func() {
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
			w := newWorld(t)
			w.runReal()

			if test.hinder != nil {
				w.grantSparkRights()
			}

			app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
				if test.app != nil {
					test.app(w, app)
				}
			})
			driver := w.driverOf(app, 1)

			lift := w.grantSparkRights
			if test.hinder != nil {
				lift = test.hinder(w)
			}

			w.ready(driver.Name)
			w.waitReady("pi", test.reason, "executors cannot be created: ", test.says)
			w.waitEvent(app, "SparkExecutorPending", test.reason, test.says)

			got := w.Get("pi")
			if got.Status.AppState.State != v1beta2.ApplicationStateRunning || got.Status.AppState.ErrorMessage != "" || got.Status.Operator.ShortSince == nil {
				t.Errorf("the state is %+v, short since %v", got.Status.AppState, got.Status.Operator.ShortSince)
			}

			lift()
			w.waitReady("pi", "AwaitingExecutors", "0 of 1 executors run")

			if reported := w.EventsOf(app)["SparkExecutorPending"]; strings.Contains(reported, "\n") {
				t.Errorf("reported more than once: %s", reported)
			}

			w.Create(w.executor(app, driver, 1))
			w.kubelet("pi-exec-1", corev1.PodRunning, running())
			w.waitReady("pi", "Running", "")

			if got := w.Get("pi").Status.Operator.ShortSince; got != nil {
				t.Errorf("short since %v", got)
			}
		})
	}
}

// waitReady waits until the condition Ready has the given reason and its message contains all the texts.
func (w *world) waitReady(name, reason string, says ...string) {
	w.T.Helper()
	kit.Wait(w.T, name+" to wait for "+reason, func(context.Context) error {
		c := condition(w.Get(name), "Ready")
		for _, text := range says {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("Ready is %+v", c)
			}
		}
		return want(c.Reason, reason)
	})
}

// TestExecutorLostToAQuota checks an application that had all its executors, lost one of them, and cannot replace it
// because of a quota. The condition Degraded and an event report the quota.
func TestExecutorLostToAQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	w.grantSparkRights()
	app := w.Application("pi", scene.WithDriver)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	executor := w.executor(app, driver, 1)
	w.Create(executor)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitReady("pi", "Running")
	w.noPods()
	w.kubelet(executor.Name, corev1.PodFailed, scene.Exited(1, "boom"))
	w.waitEvent(app, "SparkExecutorPending", apianswer.ReasonQuota, "no-pods", "-exec-2")

	got := w.Get("pi")
	if ready, degraded := condition(got, "Ready"), condition(got, "Degraded"); ready.Status != metav1.ConditionTrue || degraded.Reason != apianswer.ReasonQuota {
		t.Errorf("Ready is %+v, Degraded %+v", ready, degraded)
	}
}

// TestNoDryRunsWhileExecutorsExist checks that an application with all its executors causes no dry runs. An application
// whose executors cannot be created causes only one dry run every few seconds, however many of its executors start and
// end. A dry run causes no status write.
func TestNoDryRunsWhileExecutorsExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := &requests{}
	w.runReal(func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.next = next; return made })
	})
	well := w.Application("well", scene.WithDriver)
	driver := w.driverOf(well, 1)
	w.ready(driver.Name)
	w.Create(w.executor(well, driver, 1))
	w.kubelet("well-exec-1", corev1.PodRunning, running())
	w.waitReady("well", "Running")

	begun := time.Now()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(1000)) })
	driver = w.driverOf(app, 1)
	w.ready(driver.Name)
	w.waitReady("pi", apianswer.ReasonForbidden) // the account has no rights; the pod itself is valid
	// From here on nothing more is reported.
	before, status := made.since(nil), w.Get("pi").Status
	for i := range 30 {
		w.Create(w.executor(app, driver, i+1))
	}

	w.kubelet("pi-exec-1", corev1.PodRunning, running()) // while none runs, the counts are debounced longer (debounce.go)
	kit.Wait(t, "the executors to be counted", func(context.Context) error {
		counts := w.Get("pi").Status.Executors
		if counts == nil {
			return errors.New("there are none")
		}
		return want(*counts, v1beta2.ExecutorCounts{Pending: 29, Running: 1})
	})

	most := 1 + int(time.Since(begun)/lifecycle.QueryInterval(0))

	all := made.since(nil)
	if asked := all["POST localsubjectaccessreviews"]; asked < 1 || asked > most {
		t.Errorf("%d requests for a review of rights, want at most %d", asked, most)
	}

	if pods := all["POST pods"]; pods < 3 || pods > 2+most {
		t.Errorf("%d requests to create pods, want two drivers and at most %d dry runs", pods, most)
	}

	if events := made.since(before)["POST events"]; events > 1 {
		t.Errorf("%d events", events)
	}

	if now := w.Get("pi").Status; now.Operator.ShortSince.Time != status.Operator.ShortSince.Time || condition(w.Get("pi"), "Ready").Reason != apianswer.ReasonForbidden {
		t.Errorf("short since %v, then %v; Ready is %+v", status.Operator.ShortSince, now.Operator.ShortSince, condition(w.Get("pi"), "Ready"))
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
