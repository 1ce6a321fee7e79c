package configured_test

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/test/kit/resources"
)

// clusterHistory returns the states of a status, oldest first.
func clusterHistory(sc *resources.SparkCluster) (states []resources.ClusterState) {
	for i := range len(sc.Status.StateTransitionHistory) {
		states = append(states, sc.Status.StateTransitionHistory[fmt.Sprint(i)].CurrentStateSummary)
	}
	return states
}
