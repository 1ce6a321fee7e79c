package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// quotaRejectsExecutors checks an application whose executors a quota rejects. Spark retries without reporting the
// cause, so the operator reports it in the status and an event. After the test deletes the quota, the application must
// continue without further action.
func (w *suite) quotaRejectsExecutors(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "life-refused", Namespace: "default"}
	// The quota applies to one priority class only, because other tests use the same namespace.
	quota := &corev1.ResourceQuota{ObjectMeta: meta, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn,
			Values: []string{meta.Name},
		}}},
	}}
	w.createAll(t, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}}, quota)
	eventually(t, time.Minute, "the quota to be enforced", func() (string, bool) {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
		return "its status has no hard limits", err == nil && len(quota.Status.Hard) > 0
	})
	s := w.createStory(t, w.scriptedApp(t, "quota", []string{"session", "end"}, func(a *v1beta2.SparkApplication) {
		a.Spec.Executor.PriorityClassName = &meta.Name
	}))
	s.untilExecutorsRejected(t, "QuotaExceeded", "exceeded quota: life-refused")

	if err := w.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}

	s.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, completed),
		runs:   1, submissions: 1, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationSubmitted", "SparkDriverRunning",
			"SparkExecutorPending"},
	})
}

// missingAccountBlocksExecutors checks an application whose executors name a service account that does not exist.
func (w *suite) missingAccountBlocksExecutors(t *testing.T) {
	s := w.createStory(t, w.scriptedApp(t, "account", []string{"session", "end"}, func(a *v1beta2.SparkApplication) {
		a.Spec.Executor.ServiceAccount = new("no-such-account")
	}))
	s.untilExecutorsRejected(t, "ServiceAccountNotFound", `"no-such-account" not found`)
	s.remove(t, s.app)
}

// untilExecutorsRejected waits until a condition and an event give the reason why the application has no executors.
func (s *story) untilExecutorsRejected(t *testing.T, reason, wantMessage string) {
	t.Helper()
	s.waitFor(t, patience, "the cause", func(a *v1beta2.SparkApplication) bool {
		ready := condition(a, "Ready")
		return a.Status.AppState.State == running && ready.Status == metav1.ConditionFalse && ready.Reason == reason &&
			strings.Contains(ready.Message, wantMessage)
	})
	eventually(t, 30*time.Second, "an event with the cause", func() (string, bool) {
		return s.describe(t, s.app), slices.ContainsFunc(s.events(t, s.app), func(e corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, wantMessage)
		})
	})
}

// disruptionBudget checks that the PodDisruptionBudget prevents the eviction of the driver. Removing the budget from
// the spec must not start a new run.
func (w *suite) disruptionBudget(t *testing.T) {
	s := w.createStory(t, w.scriptedApp(t, "budget", []string{"sleep"},
		func(a *v1beta2.SparkApplication) { a.Spec.DriverPodDisruptionBudget = new(true) }))
	s.untilRun(t, 1)
	driver := s.driver(t)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: driver.Name, Namespace: driver.Namespace}}
	evict := func() error { return w.Core.PolicyV1().Evictions(driver.Namespace).Evict(t.Context(), eviction) }

	eventually(t, time.Minute, "the budget to protect the driver", func() (string, bool) {
		budget := &policyv1.PodDisruptionBudget{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(driver), budget); err != nil {
			return err.Error(), false
		}
		return "it does not count the driver as healthy", budget.Status.CurrentHealthy == 1
	})

	if err := evict(); !apierrors.IsTooManyRequests(err) {
		t.Fatalf("evicting the driver: %v, want the budget to reject it", err)
	}

	s.patch(t, `{"spec": {"driverPodDisruptionBudget": false}}`)
	eventually(t, time.Minute, "the budget to be gone", func() (string, bool) {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(driver), &policyv1.PodDisruptionBudget{})
		return "it still exists", apierrors.IsNotFound(err)
	})

	if err := evict(); err != nil {
		t.Fatal(err)
	}

	s.waitFor(t, patience, "the end",
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == failed })

	if got := s.app.Status.Operator.Attempt; got != 1 {
		t.Errorf("the removal of the budget started attempt %d", got)
	}

	s.remove(t, s.app)
}
