package kit

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

func TestMain(m *testing.M) { Main(m) }

func TestControlPlaneServesOurKinds(t *testing.T) {
	c := Client(t, v1beta2.AddToScheme)
	for _, list := range []client.ObjectList{&v1beta2.SparkApplicationList{},
		&v1beta2.ScheduledSparkApplicationList{}} {
		if err := c.List(t.Context(), list); err != nil {
			t.Errorf("%T: %v", list, err)
		}
	}
}

func TestNamespacesAreApart(t *testing.T) {
	c, a, b := Client(t), Namespace(t), Namespace(t)
	if a == b {
		t.Fatalf("both are %s", a)
	}

	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a, Name: "one"}}
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	if err := c.Get(t.Context(), client.ObjectKey{Namespace: b, Name: "one"},
		&corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the other namespace has it: %v", err)
	}
}

func TestWaitReturnsWhenTheConditionHolds(t *testing.T) {
	calls := 0
	Wait(t, "the third call", func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})

	if calls != 3 {
		t.Errorf("called %d times", calls)
	}
}
