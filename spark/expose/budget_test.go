package expose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func TestDriverBudget(t *testing.T) {
	for _, test := range []struct {
		name string
		b    Budget
		want string
	}{
		{"whole", Budget{
			Meta: Meta{
				Namespace: "jobs", Name: "pi-driver", Labels: map[string]string{"app": "pi"},
				Owner: metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: types.UID("u"),
					Controller: new(true)},
			},
			Selector: map[string]string{"app": "pi", "spark-role": "driver"},
		}, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: pi-driver
  namespace: jobs
  labels: {app: pi}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec: {minAvailable: 1, selector: {matchLabels: {app: pi, spark-role: driver}}}
`},
		{"of nobody, for nothing", Budget{Meta: Meta{Namespace: "jobs", Name: "pi-driver"}}, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pi-driver, namespace: jobs}
spec: {minAvailable: 1}
`},
	} {
		text, err := yaml.Marshal(DriverBudget(test.b))
		if err != nil {
			t.Fatal(err)
		}

		var got, want map[string]any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}

		if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}

		delete(got, "status")
		delete(got["metadata"].(map[string]any), "creationTimestamp")

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestDriverBudgetSharesNothing checks that the budget shares no memory with its input.
func TestDriverBudgetSharesNothing(t *testing.T) {
	b := Budget{Selector: map[string]string{"c": "d"}, Meta: Meta{Labels: map[string]string{"a": "b"},
		Owner: metav1.OwnerReference{UID: "u", Controller: new(true)}}}
	made := DriverBudget(b)

	b.Labels["a"], b.Selector["c"], *b.Owner.Controller = "x", "x", false
	if made.Labels["a"] != "b" || made.Spec.Selector.MatchLabels["c"] != "d" || !*made.OwnerReferences[0].Controller {
		t.Errorf("changed with its request: %+v", made)
	}
}
