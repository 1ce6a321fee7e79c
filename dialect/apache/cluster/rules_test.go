package cluster

import (
	"testing"

	"github.com/sparkoperator/spark-operator/dialect"
)

// refusingRules are rules that reject every custom resource.
type refusingRules struct{ dialect.Rules }

func (refusingRules) Faults(*dialect.Subject) []*dialect.FieldError {
	return []*dialect.FieldError{{Field: "spec", Message: "is not allowed; ask the platform"}}
}

// TestRunningClusterContinuesUnderStricterRules checks that a running cluster keeps its objects when new rules of the
// platform reject its spec, and that one event reports this. The same rules must reject a new cluster.
func TestRunningClusterContinuesUnderStricterRules(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t)
	w.pass()
	w.observePods(2)
	w.pass()
	before := w.states()
	w.c.Rules = refusingRules{}
	for range 3 {
		object := w.sc.DeepCopy()
		if !w.c.AuxiliaryObjects(object, w.seen).Unsettled {
			t.Fatal("the objects of the running cluster change")
		}
		w.pass()
	}
	if got := w.states(); got != before {
		t.Errorf("the states are %s, before %s", got, before)
	}
	reported := 0
	for _, reason := range w.reported {
		if reason == EventClusterInvalid {
			reported++
		}
	}
	if stalled := w.condition("Stalled"); reported != 1 || stalled.Reason != "InvalidSpec" {
		t.Errorf("reported %d times; %+v", reported, stalled)
	}
	fresh := newClusterWorld(t)
	fresh.c.Rules = refusingRules{}
	fresh.pass()
	fresh.wantStates("Submitted Failed ResourceReleased")
	w.c.Rules = nil
	w.pass()
	if w.c.AuxiliaryObjects(w.sc.DeepCopy(), w.seen).Unsettled {
		t.Error("the objects of the cluster are not updated although the rules allow its spec again")
	}
}
