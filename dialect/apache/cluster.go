package apache

import "time"

// ClusterOptions is what the operator's configuration gives every cluster. The zero value of a field means what it says.
type ClusterOptions struct {
	// OperatorName is the value of the label spark.operator/name of all that is made; empty means DefaultOperatorName.
	OperatorName string
	// ClusterDomain ends the names of Services; empty means "cluster.local".
	ClusterDomain string
	// MasterStart is how long a master may take to be ready, from when the API server has taken all objects of its cluster, and how long an edited cluster may
	// take until all pods are of it; 0 means no bound.
	MasterStart time.Duration
	// Trim keeps the states of the current attempt alone in status.stateTransitionHistory, as Options.Trim does. A cluster is attempted anew when
	// one that failed is edited.
	Trim bool
}

// Clusters decides about and renders SparkClusters. It is pure: its methods read nothing but their arguments.
type Clusters struct{ ClusterOptions }
