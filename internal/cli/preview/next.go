package preview

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Next returns the plan of the operator's next pass over a stored object with the given pods. It calls the operator's
// decision function, which needs no cluster and changes nothing. Next assumes that all other objects exist and are up
// to date.
func (o Operator) Next(object client.Object, pods []corev1.Pod) (lifecycle.Plan, error) {
	k, err := o.Kind(object)
	if err != nil {
		return lifecycle.Plan{}, err
	}

	plan := k.Decide(object.DeepCopyObject().(client.Object), seenPods(pods), o.Now)
	plan.Actions = slices.DeleteFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Part == lifecycle.DriverBudget })
	return plan, nil
}

// seenPods returns the facts that the operator would observe about the given pods.
func seenPods(pods []corev1.Pod) (seen lifecycle.Observed) {
	for i := range pods {
		pod := &pods[i]
		switch role := pod.Labels[identity.RoleLabel]; {
		case role == identity.RoleSubmitter:
			submitter := lifecycle.SubmitterFacts(pod, submit.RunnerContainer)
			seen.Submitters = append(seen.Submitters, submitter)
		case identity.IsDriver(pod):
			seen.Drivers = append(seen.Drivers, lifecycle.DriverFacts(pod, trim.SparkContainer(pod)))
		case role == identity.RoleExecutor:
			seen.Executors = append(seen.Executors, lifecycle.ExecutorFacts(pod))
		case identity.IsClusterPod(pod):
			seen.Members = append(seen.Members, lifecycle.MemberFacts(pod))
		}
	}
	return seen
}
