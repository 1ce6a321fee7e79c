package kit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// PolicyOf returns the NetworkPolicy among the objects of a submission, or nil if there is none.
func PolicyOf(t *testing.T, objects []submit.Object) (found *networkingv1.NetworkPolicy) {
	t.Helper()

	for _, o := range objects {
		if policy, ok := o.(*networkingv1.NetworkPolicy); ok {
			if found != nil {
				t.Fatal("two policies")
			}

			found = policy
		}
	}
	return found
}

// WantPolicy compares the policy with a specification in YAML.
func WantPolicy(t *testing.T, got *networkingv1.NetworkPolicy, want string) {
	t.Helper()

	var spec networkingv1.NetworkPolicySpec
	if err := yaml.UnmarshalStrict([]byte(want), &spec); err != nil {
		t.Fatal(err)
	}

	if got == nil {
		t.Fatal("there is no policy")
	}

	if diff := cmp.Diff(spec, got.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
