package operator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestOwnersOfNewKinds checks on a real API server, whose admission plugin checks owner references, that an object of
// an owner with a new kind is created at once. A plain client is refused meanwhile. The test checks that first, so that
// it cannot pass without the situation.
func TestOwnersOfNewKinds(t *testing.T) {
	api, namespace := kit.Client(t, apiextensions.AddToScheme), kit.Namespace(t)
	user := limitedUser(t, api, namespace)

	for try := range 5 {
		owner := newKind(t, api, namespace, fmt.Sprintf("owners%d-%d", try, time.Now().UnixNano()))
		object := func(name string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, try), Namespace: namespace,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(),
					UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}}}}
		}

		if err := user.Create(t.Context(), object("plain")); !apianswer.UnknownOwnerKind(err) {
			if err != nil {
				t.Fatal(err)
			}
			continue // the plugin has read the kinds between the creation of the definition and now
		}

		made := object("unblocked")
		if err := (apianswer.Unblocking{Client: user}).Create(t.Context(), made); err != nil {
			t.Fatal(err)
		}

		if owners := made.OwnerReferences; len(owners) != 1 || owners[0].UID != owner.GetUID() || !*owners[0].Controller || owners[0].BlockOwnerDeletion != nil {
			t.Errorf("owners %+v", owners)
		}
		return
	}

	t.Error("the API server knew the kinds of all owners at once")
}

// limitedUser returns a client of a user with rights on ConfigMaps and on the finalizers of owners. The admission
// plugin checks no owner of an administrator.
func limitedUser(t *testing.T, api client.Client, namespace string) client.Client {
	t.Helper()

	const name = "owners"
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
			{APIGroups: []string{"test.example.com"}, Resources: []string{"*"}, Verbs: []string{"update"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}},
	} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	limited := rest.CopyConfig(kit.Rest(t))
	limited.Impersonate = rest.ImpersonationConfig{UserName: name}

	user, err := client.New(limited, client.Options{Scheme: api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the rights of the user", func(ctx context.Context) error {
		return user.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "may-", Namespace: namespace}})
	})
	return user
}

// newKind installs a definition and returns an object of its kind.
func newKind(t *testing.T, api client.Client, namespace, plural string) *unstructured.Unstructured {
	t.Helper()

	definition := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".test.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "test.example.com", Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: plural, Singular: plural, Kind: "Kind" + plural, ListKind: "Kind" + plural + "List"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}}}},
		},
	}
	if err := api.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = api.Delete(t.Context(), definition) })

	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion("test.example.com/v1")
	owner.SetKind("Kind" + plural)
	owner.SetName("owner")
	owner.SetNamespace(namespace)

	kit.Wait(t, "the kind to be served", func(ctx context.Context) error { return api.Create(ctx, owner) })
	return owner
}
