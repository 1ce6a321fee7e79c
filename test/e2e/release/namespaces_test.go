package release

import (
	"context"
	"fmt"
	"strings"
	"testing"

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
