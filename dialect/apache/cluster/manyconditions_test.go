package cluster

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/cluster"
)

// TestManyConditionsOfOthers: what others wrote into a status stays, unless it is more than anybody does; our own are there either way.
func TestManyConditionsOfOthers(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ theirs, want int }{{0, 0}, {3, 3}, {20000, maxConditions}} {
		sc := &sparkv1.SparkCluster{}
		for i := range test.theirs {
			sc.Status.Conditions = append(sc.Status.Conditions, metav1.Condition{Type: fmt.Sprint("theirs-", i)})
		}
		encodeClusterConditions(sc, cluster.Cluster{}, cluster.Memory{Phase: lifecycle.Launched}, lifecycle.Observed{}, cluster.Objects{}, now)
		theirs := 0
		for _, c := range sc.Status.Conditions {
			if len(c.Type) > 6 && c.Type[:6] == "theirs" {
				theirs++
			}
		}
		if theirs != test.want || meta.FindStatusCondition(sc.Status.Conditions, ConditionProgressing) == nil {
			t.Errorf("of %d conditions of others %d are there, want %d: %d in all", test.theirs, theirs, test.want, len(sc.Status.Conditions))
		}
	}
}
