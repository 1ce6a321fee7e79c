package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestDeletionIsForbidden checks an object that the operator must delete before the next attempt but has no right to
// delete. The next attempt waits until the operator has the right. A condition shows the reason.
func TestDeletionIsForbidden(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	user := "system:serviceaccount:" + w.Namespace + ":operator"
	verbs := []string{"get", "list", "watch", "create", "patch", "update"}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}}
	w.Create(role)
	w.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
	w.RunReal(func(env *operator.Environment) { env.Rest.Impersonate.UserName = user })
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1))
	w.Execute(w.DriverOf(app, 1), scene.Exited(1, "again"))
	kit.Wait(t, "the cause in the conditions", func(context.Context) error {
		conditions := w.Get("pi").Status.Conditions

		shown := slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
			return c.Reason == apianswer.ReasonOperatorForbidden &&
				strings.Contains(c.Message, "cannot delete resource")
		})
		if !shown {
			return fmt.Errorf("the conditions are %+v", conditions)
		}
		return nil
	})

	role.Rules[0].Verbs = append(verbs, "delete")
	if err := w.API.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}

	w.Suspend("pi", true) // triggers a pass now, and not when the deletion is due again
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitNothingOf(app)
}
