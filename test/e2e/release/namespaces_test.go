package release

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestUpgradeWithoutANamespace checks that a release can be upgraded with unchanged values after one of its job
// namespaces was deleted. The notes name this namespace, and the objects in the other namespaces stay. When the
// namespace exists again, the next upgrade creates the objects in it.
func TestUpgradeWithoutANamespace(t *testing.T) {
	r := newRelease(t)
	kit.NeedsControllers(t, "the deletion of namespaces")

	gone := r.namespace + "-gone"
	namespace := func() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gone}} }
	create := func() {
		t.Helper()

		if err := r.api.Create(t.Context(), namespace()); err != nil {
			t.Fatal(err)
		}
	}
	create()

	values := fmt.Sprintf("spark: {jobNamespaces: [%s, %s]}", r.namespace, gone)
	r.install(currentChart, values)

	bound := func(in string) bool {
		t.Helper()

		binding := client.ObjectKey{Namespace: in, Name: "spark-operator-controller"}

		err := r.api.Get(t.Context(), binding, &rbacv1.RoleBinding{})
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return err == nil
	}

	if err := r.api.Delete(t.Context(), namespace()); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the namespace to be gone", func(ctx context.Context) error {
		if err := r.api.Get(ctx, client.ObjectKeyFromObject(namespace()), namespace()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it exists (error %w)", err)
		}
		return nil
	})

	if notes, err := r.tryUpgrade(values); err != nil ||
		!strings.Contains(notes, "namespace "+gone+" of spark.jobNamespaces does not exist") {
		t.Fatalf("%v; the notes are\n%s", err, notes)
	}

	if !bound(r.namespace) || bound(gone) {
		t.Error("the wrong namespace was left out")
	}

	strict := strings.Replace(values, "{", "{skipMissingNamespaces: false, ", 1)
	if _, err := r.tryUpgrade(strict); !apierrors.IsNotFound(err) &&
		(err == nil || !strings.Contains(err.Error(), gone)) {
		t.Errorf("an upgrade that leaves out nothing ends with %v", err)
	}

	create()

	if notes, err := r.tryUpgrade(values); err != nil || strings.Contains(notes, "does not exist") || !bound(gone) {
		t.Errorf("once the namespace exists: %v; the notes are\n%s", err, notes)
	}
}

// TestUpgradeWithoutLeaderElection checks that no upgrade runs two controllers if leader election is off. The API
// server refuses the type Recreate beside its defaults of a rolling update, so a release that has them gets a rolling
// update that first deletes the old pod.
func TestUpgradeWithoutLeaderElection(t *testing.T) {
	const off = "controller: {leaderElection: {enable: false}}"

	for _, test := range []struct {
		name, first string
		want        appsv1.DeploymentStrategyType
	}{
		{"from the beginning", off, appsv1.RecreateDeploymentStrategyType},
		{"switched off", "{}", appsv1.RollingUpdateDeploymentStrategyType},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRelease(t)
			r.install(currentChart, test.first)
			r.upgrade(off)

			got := r.strategy()
			if got.Type != test.want || got.RollingUpdate != nil && got.RollingUpdate.MaxSurge.IntValue() != 0 {
				t.Errorf("strategy %v, want %s without a surge", got, test.want)
			}

			r.upgrade("{}")

			if got := r.strategy(); got.Type != appsv1.RollingUpdateDeploymentStrategyType {
				t.Errorf("strategy %v after leader election is on again", got)
			}
		})
	}
}

// strategy returns the strategy of the controller's Deployment.
func (r *release) strategy() appsv1.DeploymentStrategy {
	r.t.Helper()

	var controller appsv1.Deployment
	if err := r.api.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: r.controller()}, &controller); err != nil {
		r.t.Fatal(err)
	}
	return controller.Spec.Strategy
}
