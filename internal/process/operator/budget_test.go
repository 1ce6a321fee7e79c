package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func withBudget(app *v1beta2.SparkApplication) { app.Spec.DriverPodDisruptionBudget = new(true) }

// budgets returns the PodDisruptionBudgets of an application.
func (w *world) budgets(app *v1beta2.SparkApplication) []policyv1.PodDisruptionBudget {
	w.T.Helper()

	var list policyv1.PodDisruptionBudgetList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// waitBudgets waits until the application has exactly one PodDisruptionBudget and this budget belongs to the given
// attempt. If attempt is 0, it waits until the application has no PodDisruptionBudget.
func (w *world) waitBudgets(app *v1beta2.SparkApplication, attempt int32) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("the budget of attempt %d", attempt), func(context.Context) error {
		got := w.budgets(app)
		if attempt == 0 {
			return want(len(got), 0)
		}

		if err := want(len(got), 1); err != nil {
			return err
		}
		return want(identity.Attempt(&got[0]), attempt)
	})
}

// budget sets driverPodDisruptionBudget in an application's spec to the given value.
func (w *world) budget(name string, asked bool) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()

	app.Spec.DriverPodDisruptionBudget = new(asked)
	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// evict requests an eviction of a pod as kubectl drain does, but in a dry run, and returns the API server's answer.
func (w *world) evict(pod *corev1.Pod) error {
	return w.API.SubResource("eviction").Create(w.T.Context(), pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
}

// ready plays the kubelet: it reports that the pod's first container runs and that the pod is ready.
func (w *world) ready(name string) {
	w.T.Helper()
	pod := w.waitPod(name)
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}

	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: running(), Ready: true}}
	if err := w.API.Status().Patch(w.T.Context(), pod, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// TestDriverIsKeptFromEvictions checks that a budget protects a driver from its start to its end, and only while the
// spec requests a budget.
func TestDriverIsKeptFromEvictions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, withBudget, onFailure(1))
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	w.waitBudgets(app, 1)

	made := w.budgets(app)[0]
	if owner := metav1.GetControllerOf(&made); made.Name != driver.Name || owner == nil || owner.UID != app.UID {
		t.Errorf("the budget is %s of %v", made.Name, owner)
	}

	kit.Wait(t, "an eviction to be refused", func(context.Context) error {
		if err := w.evict(driver); !apierrors.IsTooManyRequests(err) {
			return errors.Join(errors.New("the eviction is not refused"), err)
		}
		return nil
	})
	// The operator's own deletions ignore budgets.
	if err := w.API.Delete(t.Context(), &made); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "another budget", func(context.Context) error {
		if now := w.budgets(app); len(now) != 1 || now[0].UID == made.UID {
			return fmt.Errorf("there are %d", len(now))
		}
		return nil
	})
	w.budget("pi", false)
	w.waitBudgets(app, 0)

	if err := w.evict(driver); err != nil {
		t.Errorf("the spec no longer requests a budget, but an eviction returns %v", err)
	}

	w.budget("pi", true)
	w.waitBudgets(app, 1)
	w.kubelet(driver.Name, corev1.PodFailed, scene.Exited(1, "again"))
	second := w.driverOf(app, 2)
	w.ready(second.Name)
	w.waitBudgets(app, 2)
	// A sidecar still runs, but its pod may be drained.
	w.kubelet(second.Name, corev1.PodRunning, scene.Exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.waitBudgets(app, 0)

	if got.Status.ExecutionAttempts != 2 {
		t.Errorf("%d runs, want 2", got.Status.ExecutionAttempts)
	}

	w.waitPod(second.Name) // kept for its log
}

func TestBudgetGoesWithItsApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, withBudget)
	w.ready(w.driverOf(app, 1).Name)
	w.waitBudgets(app, 1)
	w.suspend("pi", true)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.waitBudgets(app, 0)
	w.suspend("pi", false)
	w.ready(w.driverOf(app, 2).Name)
	w.waitBudgets(app, 2)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.waitBudgets(app, 0)
	w.waitNothingOf(app)
}

// TestBudgetOfSomebodyElse checks an application whose driver needs a budget with the name of somebody else's budget.
// The operator does not change the existing budget and reports the conflict in an event. The application runs without a
// budget.
func TestBudgetOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: driverName("pi")}}
	w.Create(theirs)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, withBudget)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	w.waitEvent(app, dependents.ReasonNameTaken, "not protected from evictions", "does not belong to this resource")
	w.execute(driver, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
		t.Errorf("somebody else's budget: %v", err)
	}
}

// TestBudgetIsForbidden checks an operator that has no right to create budgets. The application runs without a budget
// and reports that. The operator does not repeat the request for each of the application's executors.
func TestBudgetIsForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := "system:serviceaccount:" + w.Namespace + ":operator"
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "sparkoperator.k8s.io", "networking.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{"policy"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}},
	}})
	w.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})

	made := &requests{}
	w.runReal(func(env *Environment) {
		env.Rest.Impersonate.UserName = user
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.next = next; return made })
	})

	begun := time.Now()
	app := w.Application("pi", scene.WithDriver, withBudget)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)

	for i := range 20 {
		w.Create(w.executor(app, driver, i+1))
	}

	kit.Wait(t, "the executors in the status", func(context.Context) error {
		if counts := w.Get("pi").Status.Executors; counts == nil || counts.Pending != 20 {
			return fmt.Errorf("the counts are %+v", counts)
		}
		return nil
	})
	w.waitEvent(app, apianswer.ReasonOperatorForbidden, "not protected from evictions", "cannot create resource")

	asked, most := made.since(nil)["POST poddisruptionbudgets"], 1+int(time.Since(begun)/budgetInterval)
	if asked < 1 || asked > most {
		t.Errorf("the creation was requested %d times, want at most %d", asked, most)
	}

	w.execute(driver, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
}

// executor returns an executor pod as Spark would create it.
func (w *world) executor(app *v1beta2.SparkApplication, driver *corev1.Pod, id int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-exec-%d", app.Name, id),
			Labels: map[string]string{
				identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: driver.Labels[identity.AttemptLabel], identity.RoleLabel: identity.RoleExecutor, "spark-exec-id": fmt.Sprint(id),
				"spark-app-selector": driver.Labels["spark-app-selector"],
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)},
				{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: app.Name, UID: app.UID}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "i"}}},
	}
}
