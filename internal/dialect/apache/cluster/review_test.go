package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestReviewHasTheMessageOfThePass checks that a review reports a fault with the same message as a pass, and that an
// unknown field of a template causes a warning.
func TestReviewHasTheMessageOfThePass(t *testing.T) {
	sc := sparkCluster(makeInvalid)
	want, _, _ := testClusters.want(sc, lifecycle.Observed{})

	review := testClusters.Review(sc)
	if want.Invalid == nil || len(review.Faults) == 0 ||
		dialect.Invalid(review.Faults).Message != want.Invalid.Message {
		t.Errorf("the review has the faults %v, the pass %v", review.Faults, want.Invalid)
	}

	review = testClusters.Review(sparkCluster(func(sc *sparkv1.SparkCluster) {
		sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: &runtime.RawExtension{
			Raw: []byte(`{"template":{"spec":{"containers":[{"name":"worker"}],"capabilities":{}}}}`),
		}}}
	}))
	if len(review.Faults) > 0 || len(review.Warnings) != 1 ||
		!strings.HasPrefix(review.Warnings[0],
			"spec.workerSpec.statefulSetSpec.template.spec.capabilities: has no effect at this place") {
		t.Errorf("faults %v, warnings %q", review.Faults, review.Warnings)
	}
}

// TestRestartWarning checks that a warning announces an edit that replaces pods of a running cluster. An edit of the
// number of workers replaces no pods, so there is no warning.
func TestRestartWarning(t *testing.T) {
	running := func(change ...func(*sparkv1.SparkCluster)) *sparkv1.SparkCluster {
		sc := sparkCluster(change...)
		sc.Status.Operator = &sparkv1.ClusterOperatorStatus{Phase: string(lifecycle.Running)}
		return sc
	}

	conf := editTo(2, map[string]string{"spark.worker.cleanup.enabled": "true"})
	for name, test := range map[string]struct {
		old, edited *sparkv1.SparkCluster
		warns       bool
	}{
		"configuration":               {running(), running(conf), true},
		"the number of workers":       {running(), running(editTo(3, nil)), false},
		"no change":                   {running(), running(), false},
		"an invalid spec":             {running(), running(makeInvalid), false},
		"a cluster that does not run": {sparkCluster(), sparkCluster(conf), false},
	} {
		if got := testClusters.RestartWarning(test.old, test.edited); (got != "") != test.warns {
			t.Errorf("%s: %q, want a warning: %t", name, got, test.warns)
		}
	}
}
