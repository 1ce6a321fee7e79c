package runner

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// openPorts returns a policy that opens the Request's ports in addition to the policy that spark-submit creates. The
// operator cannot add the ports to spark-submit's policy before that policy exists. Two policies work, because
// Kubernetes allows connections that any of a pod's policies allows.
//
// This second policy also admits the application's own pods, because it may be the only policy. If the image contains
// an older Spark than the Request declares, spark-submit creates no policy. A policy that opens only the ports would
// then isolate the executors from each other. The second policy selects the pods by the Request's labels. If the
// Request has no labels, the application's pods are unknown, so openPorts returns nil.
func openPorts(d *draft.Draft) (*networkingv1.NetworkPolicy, error) {
	if !d.Line.NetworkPolicy || len(d.Request.ExecutorPorts) == 0 || len(d.Request.Labels) == 0 {
		return nil, nil
	}

	excluded, err := steps.ExcludedSteps(d)
	if err != nil || slices.Contains(excluded, "NetworkPolicyFeatureStep") {
		return nil, err
	}

	executors := maps.Clone(d.Request.Labels)
	executors[submit.RoleLabel] = submit.RoleExecutor
	return steps.ExecutorPolicy(d, "-ports", executors, maps.Clone(d.Request.Labels)), nil
}
