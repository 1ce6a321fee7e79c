package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// rightsWindow is the time after a driver's failure in which the operator reviews the driver's rights. Later it has
// already stored the reason of the failure, and a review would have no use.
const rightsWindow = time.Minute

// DriverRights are the rights that Spark's scheduler backend (KubernetesClusterSchedulerBackend, ExecutorPodsAllocator)
// needs first. If the driver's service account lacks one of them, the driver ends with an exception whose message is
// usually lost behind its stack trace.
var DriverRights = []authorizationv1.ResourceAttributes{
	{Verb: "get", Resource: "pods"},
	{Verb: "list", Resource: "pods"},
	{Verb: "watch", Resource: "pods"},
	{Verb: "create", Resource: "pods"},
	{Verb: "create", Resource: "configmaps"},
}

// FailedDriver returns why a driver failed. Usually this is driver.Why, the cause that the pod shows. If the driver
// ended with exit code 1 less than rightsWindow ago and its log names no other cause (isUnclear), FailedDriver also
// reviews the driver's service account (accountFault). If the account has a fault, FailedDriver returns that cause,
// with the driver's log.
//
// The account is reviewed once for each driver. If the review fails, FailedDriver returns driver.Why, and a later pass
// may repeat the review.
func (e *Explainer) FailedDriver(ctx context.Context, owner types.NamespacedName, driver *lifecycle.Driver, account string, now time.Time) lifecycle.Cause {
	// A JVM exits with 1 after an uncaught exception.
	if driver.Phase != lifecycle.DriverFailed || driver.ExitCode != 1 || now.Sub(driver.EndedAt) > rightsWindow || !isUnclear(driver.Why) {
		return driver.Why
	}

	asked := apianswer.Question{Key: owner, Part: partRights}

	cause, fresh := e.replies.Last(asked, types.UID(driver.UID), driver.Attempt, now)
	if !fresh {
		var again time.Duration
		cause, again = e.failedAccountCause(ctx, owner.Namespace, account, driver)
		e.replies.Set(asked, apianswer.Reply{UID: types.UID(driver.UID), Attempt: driver.Attempt, Until: now.Add(again), Cause: cause})
	}

	if cause.Reason == "" {
		return driver.Why
	}

	_, detail, _ := strings.Cut(driver.Why.Message, ": ")
	cause.Log = cmp.Or(driver.Why.Log, detail)
	return cause
}

// isUnclear reports whether the cause of a driver's end leaves open that its account has a fault. A log that names
// another cause, such as a missing module, leaves it closed: a driver without executors needs no rights.
func isUnclear(why lifecycle.Cause) bool {
	switch why.Reason {
	case "", "Error", lifecycle.ReasonDriverFailed, apianswer.ReasonForbidden, "APIServerUnreachable":
		return true
	case "PythonException": // of the SparkContext, or of the program
		return strings.Contains(why.Message, "Py4J")
	}
	return false
}

// failedAccountCause returns a cause that names the fault of a failed driver's account, or an empty cause. It also
// returns the time for which the answer is kept. The answer of a failed review is kept only briefly.
func (e *Explainer) failedAccountCause(ctx context.Context, namespace, account string, driver *lifecycle.Driver) (lifecycle.Cause, time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	cause, err := e.accountFault(ctx, namespace, account, driver.CreatedAt)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Could not review the service account of a failed driver", "pod", driver.Name, "cause", err.Error())
		return lifecycle.Cause{}, lifecycle.QueryInterval(0)
	}
	return cause, rightsWindow
}

// accountFault returns why the API server refuses the requests of a driver, or an empty cause: the token of its service
// account is void (voidToken), or the account lacks a right.
func (e *Explainer) accountFault(ctx context.Context, namespace, account string, driverCreated time.Time) (lifecycle.Cause, error) {
	if cause, err := e.voidToken(ctx, namespace, account, driverCreated); err != nil || cause.Reason != "" {
		return cause, err
	}

	missing, err := e.missingRight(ctx, namespace, account)
	if err != nil || missing == "" {
		return lifecycle.Cause{}, err
	}
	return missingRightOf(account, missing, namespace), nil
}

// voidToken returns a cause if the token of a driver is void, because its service account was deleted, or was deleted
// and then created again. A token is bound to the UID of its account, so the token is void for ever.
//
// Only the metadata of the account are read. If the operator may not read them, the cause is empty.
func (e *Explainer) voidToken(ctx context.Context, namespace, account string, driverCreated time.Time) (lifecycle.Cause, error) {
	const effect = "the driver's token is void (401), and only a new driver gets a valid one"
	const restart = "restart the application: sparkctl restart NAME"
	live := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	err := e.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: account}, live)

	created := live.CreationTimestamp.Time
	switch {
	case apierrors.IsNotFound(err):
		return lifecycle.Cause{
			Reason: apianswer.ReasonServiceAccount, Message: fmt.Sprintf("service account %q no longer exists: %s", account, effect),
			Advice: "create the account, then " + restart,
		}, nil
	case apierrors.IsForbidden(err):
	case err != nil:
		return lifecycle.Cause{}, err
	case !driverCreated.IsZero() && created.After(driverCreated):
		return lifecycle.Cause{
			Reason:  ReasonAccountRecreated,
			Message: fmt.Sprintf("service account %q was created again at %s, after the driver: %s", account, created.UTC().Format(time.RFC3339), effect),
			Advice:  restart,
		}, nil
	}
	return lifecycle.Cause{}, nil
}

// ReasonAccountRecreated is the reason if a driver is older than its service account.
const ReasonAccountRecreated = "ServiceAccountRecreated"

// missingRightOf returns the cause about a missing right. The cause also says how to grant the right.
func missingRightOf(account, right, namespace string) lifecycle.Cause {
	return lifecycle.Cause{
		Reason: apianswer.ReasonForbidden,
		Message: fmt.Sprintf("service account %q has no right to %s in namespace %q; bind it to a Role like the one that the chart creates for drivers",
			account, right, namespace),
		Advice: fmt.Sprintf("kubectl create rolebinding spark-driver-%[1]s --clusterrole=edit --serviceaccount=%[2]s:%[1]s -n %[2]s", account, namespace),
	}
}

// missingRight returns the first of DriverRights that the account lacks, as verb and resource, or an empty string.
func (e *Explainer) missingRight(ctx context.Context, namespace, account string) (string, error) {
	for _, right := range DriverRights {
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
