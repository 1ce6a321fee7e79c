package explain

import (
	"cmp"
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// rightsWindow is the time after a driver's failure in which the operator reviews the driver's rights. Later it has
// already stored the reason of the failure, and a review would have no use.
const rightsWindow = time.Minute

// driverRights are the rights that Spark's scheduler backend (KubernetesClusterSchedulerBackend, ExecutorPodsAllocator)
// needs first. If the driver's service account lacks one of them, the driver ends with an exception whose message is
// usually lost behind its stack trace.
var driverRights = []authorizationv1.ResourceAttributes{
	{Verb: "get", Resource: "pods"},
	{Verb: "list", Resource: "pods"},
	{Verb: "watch", Resource: "pods"},
	{Verb: "create", Resource: "pods"},
	{Verb: "create", Resource: "configmaps"},
}

// FailedDriver returns why a driver failed. Usually this is driver.Why, the cause that the pod shows. If the driver
// ended with exit code 1 less than rightsWindow ago, FailedDriver also reviews the rights of the driver's service
// account. If a right is missing, FailedDriver returns that cause, with the driver's log.
//
// The rights are reviewed once for each driver. If the review fails, FailedDriver returns driver.Why, and a later pass
// may repeat the review.
func (e *Explainer) FailedDriver(ctx context.Context, owner types.NamespacedName, driver *lifecycle.Driver, account string, now time.Time) lifecycle.Cause {
	// A JVM exits with 1 after an uncaught exception.
	if driver.Phase != lifecycle.DriverFailed || driver.ExitCode != 1 || now.Sub(driver.EndedAt) > rightsWindow {
		return driver.Why
	}
	asked := apianswer.Question{Key: owner, Part: partRights}
	cause, fresh := e.replies.Last(asked, types.UID(driver.UID), driver.Attempt, now)
	if !fresh {
		var again time.Duration
		cause, again = e.missingRightCause(ctx, owner.Namespace, account, driver.Name)
		e.replies.Set(asked, apianswer.Reply{UID: types.UID(driver.UID), Attempt: driver.Attempt, Until: now.Add(again), Cause: cause})
	}
	if cause.Reason == "" {
		return driver.Why
	}
	cause.Log = cmp.Or(driver.Why.Log, driver.Why.Message)
	return cause
}

// missingRightCause returns a cause that names the right that a driver's account lacks, or an empty cause. It also
// returns the time for which the answer is kept. The answer of a failed review is kept only briefly.
func (e *Explainer) missingRightCause(ctx context.Context, namespace, account, driver string) (lifecycle.Cause, time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	missing, err := e.missingRight(ctx, namespace, account)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("Could not review the rights of a failed driver's service account", "pod", driver, "cause", err.Error())
		return lifecycle.Cause{}, lifecycle.QueryInterval(0)
	case missing == "":
		return lifecycle.Cause{}, rightsWindow
	}
	return missingRightOf(account, missing, namespace), rightsWindow
}

// missingRightOf returns the cause about a missing right. The cause also says how to grant the right.
func missingRightOf(account, right, namespace string) lifecycle.Cause {
	return lifecycle.Cause{
		Reason: apianswer.ReasonForbidden,
		Message: fmt.Sprintf("service account %q has no right to %s in namespace %q; bind it to a Role like the one that the chart creates for drivers",
			account, right, namespace),
		Advice: fmt.Sprintf("kubectl create rolebinding spark-driver-%[1]s --clusterrole=edit --serviceaccount=%[2]s:%[1]s -n %[2]s", account, namespace),
	}
}

// missingRight returns the first of driverRights that the account lacks, as verb and resource, or an empty string.
func (e *Explainer) missingRight(ctx context.Context, namespace, account string) (string, error) {
	for _, right := range driverRights {
		right.Namespace = namespace
		review := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				ResourceAttributes: &right,
				User:               "system:serviceaccount:" + namespace + ":" + account,
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			},
		}
		if err := e.writer.Create(ctx, review); err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			return right.Verb + " " + right.Resource, nil
		}
	}
	return "", nil
}
