package explain

import (
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

// rightsWindow is how long after its end a failed driver's rights are asked for: once the decision about it is made nobody asks again.
const rightsWindow = time.Minute

// driverRights are what Spark's scheduler backend does first with the driver's service account; without one of them the driver ends with an
// exception whose message is mostly lost behind its stack trace (KubernetesClusterSchedulerBackend, ExecutorPodsAllocator).
var driverRights = []authorizationv1.ResourceAttributes{
	{Verb: "get", Resource: "pods"},
	{Verb: "list", Resource: "pods"},
	{Verb: "watch", Resource: "pods"},
	{Verb: "create", Resource: "pods"},
	{Verb: "create", Resource: "configmaps"},
}

// FailedDriver is why a driver failed: the right that it lacked, where it just failed and lacked one, before what it said itself. The API server is asked about the
// driver's service account, once a driver; where it may not be asked, it is what the driver said.
func (e *Explainer) FailedDriver(ctx context.Context, of types.NamespacedName, driver *lifecycle.Driver, account string, now time.Time) lifecycle.Cause {
	// 1 is how a JVM ends on an exception that nobody caught.
	if driver.Phase != lifecycle.DriverFailed || driver.ExitCode != 1 || now.Sub(driver.EndedAt) > rightsWindow {
		return driver.Why
	}
	asked := apianswer.Question{Key: of, Part: partRights}
	cause, fresh := e.replies.Last(asked, types.UID(driver.UID), driver.Attempt, now)
	if !fresh {
		var again time.Duration
		cause, again = e.lackedRight(ctx, of.Namespace, account, driver.Name)
		e.replies.Set(asked, apianswer.Reply{UID: types.UID(driver.UID), Attempt: driver.Attempt, Until: now.Add(again), Cause: cause})
	}
	if cause.Reason == "" {
		return driver.Why
	}
	why := driver.Why
	why.Reason, why.Message = cause.Reason, cause.Message+"; "+why.Message
	return why
}

// lackedRight is what a driver's account may not do, or nothing, and for how long that holds: where nobody can be asked, not for long.
func (e *Explainer) lackedRight(ctx context.Context, namespace, account, driver string) (lifecycle.Cause, time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	missing, err := e.missingRight(ctx, namespace, account)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("the rights of a failed driver cannot be asked for", "pod", driver, "cause", err.Error())
		return lifecycle.Cause{}, lifecycle.AskAgain(0)
	case missing == "":
		return lifecycle.Cause{}, rightsWindow
	}
	return lifecycle.Cause{Reason: apianswer.ReasonForbidden, Message: lacks(account, missing, namespace)}, rightsWindow
}

// lacks says what to do about a right that a driver has not.
func lacks(account, right, namespace string) string {
	return fmt.Sprintf("service account %q is forbidden to %s in namespace %q; bind it to a Role like the one of the chart's driver service account",
		account, right, namespace)
}

// missingRight returns the first of driverRights that the account lacks, in words, or nothing.
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
		if err := e.asks.Create(ctx, review); err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			return right.Verb + " " + right.Resource, nil
		}
	}
	return "", nil
}
