package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestSparkSubmitChangesItsOwnObjectsOnly checks the chart's policy for the account of the pods that run spark-submit.
// Spark applies each object twice, with the field manager fabric8. The account may do that, and may not change an
// object of anybody else, although it has the verb patch.
func TestSparkSubmitChangesItsOwnObjectsOnly(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	user := "system:serviceaccount:" + w.Namespace + ":spark-operator-submit"

	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "../../charts/spark-operator/files/submit-policy.yaml")),
		&policy.Spec); err != nil {
		t.Fatal(err)
	}

	policy.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "spark-submit",
		Expression: `request.userInfo.username in ["` + user + `"]`}}
	for _, object := range []client.Object{policy, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: w.Namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}} {
		w.Create(object)
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(w.API.Delete(context.Background(), object)); err != nil {
				t.Error(err)
			}
		})
	}

	rc := kit.Rest(t)
	// The group has all rights, so only the policy can refuse a request.
	rc.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}

	spark, err := client.New(rc, client.Options{Scheme: w.API.Scheme()})
	if err != nil {
		t.Fatal(err)
	}

	apply := func(object *unstructured.Unstructured, options ...client.PatchOption) error {
		options = append(options, client.FieldOwner("fabric8"), client.ForceOwnership)
		return spark.Patch(t.Context(), object.DeepCopy(), client.Apply, options...) //nolint:staticcheck // as Spark does
	}
	kinds := map[string]string{
		"ConfigMap": `{data: {a: b}}`, "Secret": `{stringData: {a: b}}`,
		"Service":               `{spec: {clusterIP: None, ports: [{port: 7078}]}}`,
		"PersistentVolumeClaim": `{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		"NetworkPolicy":         `{spec: {podSelector: {}}}`,
	}
	of := func(kind, name string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(kinds[kind]), &object.Object); err != nil {
			t.Fatal(err)
		}

		object.SetAPIVersion("v1")

		if kind == "NetworkPolicy" {
			object.SetAPIVersion("networking.k8s.io/v1")
		}

		object.SetKind(kind)
		object.SetNamespace(w.Namespace)
		object.SetName(name)
		return object
	}
	const words = "spark-submit may change only objects that it created itself"
	probe := of("ConfigMap", "probe")
	owner := probe.DeepCopy()
	w.Create(owner)
	kit.Wait(t, "the policy to be in force", func(context.Context) error {
		probe.SetLabels(map[string]string{"probe": "x"})

		if err := apply(probe, client.DryRunAll); err == nil {
			return errors.New("the object was changed")
		}
		return nil
	})

	for kind := range kinds {
		foreign, own := of(kind, "foreign"), of(kind, "own")
		w.Create(foreign.DeepCopy())
		changed := foreign.DeepCopy()
		changed.SetLabels(map[string]string{"app": "evil"})

		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"evil"}}}`))
		for how, err := range map[string]error{"apply": apply(changed),
			"patch": spark.Patch(t.Context(), foreign.DeepCopy(), patch, client.FieldOwner("fabric8"))} {
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s of a foreign %s: %v", how, kind, err)
			}
		}

		if err := apply(own); err != nil {
			t.Errorf("a new %s: %v", kind, err)
			continue
		}

		own.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: owner.GetKind(), Name: owner.GetName(),
			UID: owner.GetUID()}})

		if err := apply(own); err != nil {
			t.Errorf("the owner of a %s: %v", kind, err)
		}

		if err := w.API.Patch(t.Context(), foreign, patch); err != nil {
			t.Errorf("%s: a patch by somebody else: %v", kind, err)
		}
	}

	var secret corev1.Secret
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "own"}, &secret); err != nil ||
		len(secret.OwnerReferences) != 1 {
		t.Errorf("the Secret of spark-submit has the owners %v: %v", secret.OwnerReferences, err)
	}
}
