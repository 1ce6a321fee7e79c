package access_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestMissingRights checks that, after a driver has failed, the operator finds which right the driver's service account
// lacks. Spark logs the missing right only after a long stack trace.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.EditRules)
	w := world.New(t)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "able", Namespace: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "able", Namespace: w.Namespace}},
	}
	viewer := binding.DeepCopy()

	viewer.Name, viewer.RoleRef.Name, viewer.Subjects[0].Name = "viewer", "view", "viewer"
	for _, b := range []*rbacv1.RoleBinding{binding, viewer} {
		if err := w.API.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	for _, account := range []string{"able", "viewer", "powerless"} {
		w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: account}})
	}

	for account, lacks := range map[string]string{"able": "", "viewer": "create pods", "powerless": "get pods"} {
		kit.Wait(t, "the authorizer to receive the binding", func(ctx context.Context) error {
			failed := &lifecycle.Driver{UID: "u", Phase: lifecycle.DriverFailed, HasExit: true, ExitCode: 1,
				EndedAt: scene.Noon}

			why := explain.New(w.API, w.API, nil).FailedDriver(ctx,
				types.NamespacedName{Namespace: w.Namespace, Name: "pi"}, failed, account, scene.Noon)
			if reported := fmt.Sprintf("service account %q has no right to %s in namespace", account,
				lacks); lacks != "" && !strings.Contains(why.Message, reported) || lacks == "" && why.Reason != "" {
				return fmt.Errorf("%s: %+v, want the missing right to be %q", account, why, lacks)
			}
			return nil
		})
	}
}
