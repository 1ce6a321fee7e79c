package connect

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// namesField matches a message that begins with the name of a field of the custom resource or of the operator's
// configuration.
var namesField = regexp.MustCompile(`^(spec|metadata|ui)\.[a-zA-Z]`)

// FuzzConnectSpecs checks that no spec makes the operator panic, that every error names a field, and that a second pass
// changes nothing.
func FuzzConnectSpecs(f *testing.F) {
	full, err := os.ReadFile("../../../../api/sparkoperator/v1alpha1/testdata/connect-full.json")
	if err != nil {
		f.Fatal(err)
	}

	f.Add("hub", full)

	for _, text := range []string{
		`{}`, `{"spec":{"image":""}}`, `{"spec":{"image":"a","server":{"template":7}}}`,
		`{"spec":{"image":"a","server":{"template":{"spec":{"containers":[{}]}}}}}`,
		`{"spec":{"image":"a","server":{"service":{"metadata":{"name":"A"},"spec":{"ports":[{"port":15002,"name":"x"}],"selector":{"a":"b"}}}}}}`,
		`{"spec":{"image":"a","sparkConf":{"spark.a":"a\u0000 ","":"x","spark.driver.port":"7079"}}}`,
		`{"spec":{"image":"a","sparkConf":{"spark.executor.memory":"${spark.executor.memory}"}}}`,
		`{"spec":{"image":"a","dynamicAllocation":{"enabled":true,"minExecutors":-1}}}`,
		`{"spec":{"image":"a","ui":{"ingressURLFormat":"{{$x}}"}}}`,
		`{"metadata":{"labels":{"spark-role":"x","a/b/c":"d"}},"spec":{"image":"a","sparkVersion":"x y"}}`,
	} {
		f.Add("hub", []byte(text))
	}

	f.Fuzz(func(t *testing.T, name string, text []byte) {
		sc := &v1alpha1.SparkConnect{}
		if json.Unmarshal(text, sc) != nil {
			return
		}

		sc.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: "team", UID: "u", Labels: sc.Labels}
		sc.Status = v1alpha1.SparkConnectStatus{}

		c := Connects{Options{MissingGrace: time.Minute,
			UI: sparkoperator.UI{Ingress: &sparkoperator.UIIngress{},
				Route: &sparkoperator.UIRoute{Parents: []expose.Parent{{Name: "g"}}}}}}
		if wrong := c.invalid(sc); wrong != nil && !namesField.MatchString(wrong.Message) {
			t.Errorf("names no field: %s", wrong.Message)
		}

		decide := func() lifecycle.Plan {
			plan := c.Decide(sc, lifecycle.Observed{Confirmed: true}, connectBegan)
			c.Events(sc, plan)

			if wanted := c.AuxiliaryObjects(sc); !wanted.Unsettled {
				wanted.Record(nil, connectBegan)
			}

			for _, action := range plan.Actions {
				if action.Verb != lifecycle.Create {
					continue
				}

				if _, err := c.Render(sc, action, connectBegan); err != nil {
					t.Errorf("what is valid is not rendered: %v", err)
				}

				if _, err := c.Executor(sc, action.Attempt, 1, "s", connectBegan); err != nil {
					t.Errorf("a server is made that can make no executors: %v", err)
				}
			}
			return plan
		}

		plan := decide()
		if m := plan.Next; m.Phase != lifecycle.Launched && m.Phase != lifecycle.Done &&
			m.Phase != lifecycle.Suspended {
			t.Errorf("the first decision ends in %s", m.Phase)
		}

		if diff := cmp.Diff(plan.Next, decodeConnect(&sc.Status)); diff != "" {
			t.Errorf("memory (-decided +read):\n%s", diff)
		}

		before := sc.Status.DeepCopy()
		if again := decide(); len(again.Actions) == 0 {
			if diff := cmp.Diff(*before, sc.Status); diff != "" {
				t.Errorf("a second pass changes the status:\n%s", diff)
			}
		}

		for _, condition := range sc.Status.Conditions {
			if dialect.UsableReason(condition.Reason) != condition.Reason {
				t.Errorf("condition %+v", condition)
			}
		}
	})
}
