package quota_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sparkoperator/spark-operator/internal/webhook/quota"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// TestCache checks that the cache contains the quotas of its namespaces, and needs no rights but to list and watch
// them. Without these rights the cache is not ready. It becomes ready when the rights are granted.
func TestCache(t *testing.T) {
	t.Parallel()

	w, other := scene.New(t), scene.New(t)
	for _, namespace := range []string{w.Namespace, other.Namespace} {
		w.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "q-" + namespace},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}}})
	}

	rc := kit.Rest(t)
	rc.Impersonate = rest.ImpersonationConfig{UserName: w.Namespace}

	quotas, err := quota.NewCache(rc,
		cache.Options{Scheme: w.API.Scheme(), Mapper: w.API.RESTMapper(),
			DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	done := make(chan error, 1)
	go func() { done <- quotas.Start(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	if _, err := quotas.In(t.Context(), w.Namespace); err == nil || quotas.Ready(nil) == nil {
		t.Error("it is ready without rights")
	}

	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "quotas"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: []string{"list", "watch"}},
		}})
	w.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "quotas"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.Namespace}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "quotas"}})
	kit.Wait(t, "the cache", func(context.Context) error { return quotas.Ready(nil) })

	found, err := quotas.In(t.Context(), w.Namespace)
	if err != nil || len(found) != 1 || found[0].Name != "q-"+w.Namespace {
		t.Errorf("%v, %v", found, err)
	}

	if found, err := quotas.In(t.Context(), other.Namespace); len(found) > 0 {
		t.Errorf("another namespace: %v, %v", found, err)
	}
}
