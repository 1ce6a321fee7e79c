package runs

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// TestVerify checks that a run is not created if it lacks what a later pass needs to find it again.
func TestVerify(t *testing.T) {
	s := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", UID: "u"}}
	s.Spec.Template.Image = new("i")
	action := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: "s-a"}

	run, err := tiny.RenderRun(s, action)
	if err != nil || verify(run, s, action) != nil {
		t.Fatalf("%v, %v", err, verify(run, s, action))
	}

	for name, spoil := range map[string]func(client.Object){
		"another namespace": func(run client.Object) { run.SetNamespace("other") },
		"another name":      func(run client.Object) { run.SetName("other") },
		"no owner":          func(run client.Object) { run.SetOwnerReferences(nil) },
	} {
		run := run.DeepCopyObject().(client.Object)
		if spoil(run); verify(run, s, action) == nil {
			t.Errorf("verify accepts a run with %s", name)
		}
	}
}
