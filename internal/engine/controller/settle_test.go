package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestSettleGivesUp(t *testing.T) {
	rounds := 0
	kind := tiny.Kind()
	kind.OnDecide = func(*v1beta2.SparkApplication, lifecycle.Observed, time.Time) lifecycle.Plan {
		rounds++
		return lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission,
			Attempt: 1}}}
	}
	kind.OnRender = func(*v1beta2.SparkApplication, lifecycle.Action, time.Time) (submit.Objects, error) {
		return submit.Objects{}, fmt.Errorf("never")
	}
	r := &Reconciler{kind: kind}

	_, err := r.settle(t.Context(), outcome{View: dependents.View{Owner: &v1beta2.SparkApplication{}}})
	if err == nil || rounds != maxRounds {
		t.Errorf("%d rounds, then %v", rounds, err)
	}
}
