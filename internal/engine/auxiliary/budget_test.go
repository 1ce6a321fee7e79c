package auxiliary_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// budget sets driverPodDisruptionBudget in an application's spec to the given value.
func budget(w *world.World, name string, asked bool) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()

	app.Spec.DriverPodDisruptionBudget = new(asked)
	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// evict requests an eviction of a pod as kubectl drain does, but in a dry run, and returns the API server's answer.
func evict(w *world.World, pod *corev1.Pod) error {
	return w.API.SubResource("eviction").Create(w.T.Context(), pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
}

// TestDriverIsKeptFromEvictions checks that a budget protects a driver from its start to its end, and only while the
// spec requests a budget.
func TestDriverIsKeptFromEvictions(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.WithBudget, world.OnFailure(1))
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitBudgets(app, 1)

	made := w.Budgets(app)[0]
	if owner := metav1.GetControllerOf(&made); made.Name != driver.Name || owner == nil || owner.UID != app.UID {
		t.Errorf("the budget is %s of %v", made.Name, owner)
	}

	kit.Wait(t, "an eviction to be refused", func(context.Context) error {
		if err := evict(w, driver); !apierrors.IsTooManyRequests(err) {
			return errors.Join(errors.New("the eviction is not refused"), err)
		}
		return nil
	})
	// The operator's own deletions ignore budgets.
	if err := w.API.Delete(t.Context(), &made); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "another budget", func(context.Context) error {
		if now := w.Budgets(app); len(now) != 1 || now[0].UID == made.UID {
			return fmt.Errorf("there are %d", len(now))
		}
		return nil
	})
	budget(w, "pi", false)
	w.WaitBudgets(app, 0)

	if err := evict(w, driver); err != nil {
		t.Errorf("the spec no longer requests a budget, but an eviction returns %v", err)
	}

	budget(w, "pi", true)
	w.WaitBudgets(app, 1)
	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(1, "again"))
	second := w.DriverOf(app, 2)
	w.Ready(second.Name)
	w.WaitBudgets(app, 2)
	// A sidecar still runs, but its pod may be drained.
	w.Kubelet(second.Name, corev1.PodRunning, scene.Exited(0, ""))
	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.WaitBudgets(app, 0)

	if got.Status.ExecutionAttempts != 2 {
		t.Errorf("%d runs, want 2", got.Status.ExecutionAttempts)
	}

	w.WaitPod(second.Name) // kept for its log
}

func TestBudgetGoesWithItsApplication(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.WithBudget)
	w.Ready(w.DriverOf(app, 1).Name)
	w.WaitBudgets(app, 1)
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitBudgets(app, 0)
	w.Suspend("pi", false)
	w.Ready(w.DriverOf(app, 2).Name)
	w.WaitBudgets(app, 2)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitBudgets(app, 0)
	w.WaitNothingOf(app)
}

// TestBudgetOfSomebodyElse checks an application whose driver needs a budget with the name of somebody else's budget.
// The operator does not change the existing budget and reports the conflict in an event. The application runs without a
// budget.
func TestBudgetOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	theirs := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
		Name: world.DriverName("pi")}}
	w.Create(theirs)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.WithBudget)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.WaitEvent(app, dependents.ReasonNameTaken, "not protected from evictions", "does not belong to this resource")
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil {
		t.Errorf("somebody else's budget: %v", err)
	}
}

// TestBudgetIsForbidden checks an operator that has no right to create budgets. The application runs without a budget
// and reports that. The operator does not repeat the request for each of the application's executors.
func TestBudgetIsForbidden(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	user := "system:serviceaccount:" + w.Namespace + ":operator"
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"", "sparkoperator.k8s.io", "networking.k8s.io"}, Resources: []string{"*"},
				Verbs: []string{"*"}},
			{APIGroups: []string{"policy"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}},
		}})
	w.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})

	made := &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Impersonate.UserName = user
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})

	begun := time.Now()
	app := w.Application("pi", scene.WithDriver, world.WithBudget)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)

	for i := range 20 {
		w.Create(w.Executor(app, driver, i+1))
	}

	kit.Wait(t, "the executors in the status", func(context.Context) error {
		if counts := w.Get("pi").Status.Executors; counts == nil || counts.Pending != 20 {
			return fmt.Errorf("the counts are %+v", counts)
		}
		return nil
	})
	w.WaitEvent(app, apianswer.ReasonOperatorForbidden, "not protected from evictions", "cannot create resource")

	asked, most := made.Since(nil)["POST poddisruptionbudgets"], 1+int(time.Since(begun)/world.BudgetInterval)
	if asked < 1 || asked > most {
		t.Errorf("the creation was requested %d times, want at most %d", asked, most)
	}

	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}
