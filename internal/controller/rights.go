package controller

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
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

// explainFailed finds out whether a driver that just failed lacked a right, and puts that before what the driver said itself. It asks the
// API server about the driver's service account, once a driver; where it may not ask, the pass goes on without.
func (r *Reconciler) explainFailed(ctx context.Context, p *pass) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for i := range p.seen.Drivers {
		driver := &p.seen.Drivers[i]
		// 1 is how a JVM ends on an exception that nobody caught.
		if driver.Phase != lifecycle.DriverFailed || driver.ExitCode != 1 || p.now.Sub(driver.EndedAt) > rightsWindow {
			continue
		}
		asked := question{identity.Key(p.stored), partRights}
		cause, fresh := r.answers.last(asked, types.UID(driver.UID), driver.Attempt, p.now)
		if !fresh {
			var again time.Duration
			cause, again = r.lackedRight(ctx, p, driver)
			r.answers.set(asked, reply{types.UID(driver.UID), driver.Attempt, p.now.Add(again), cause})
		}
		if cause.Reason != "" {
			driver.Why.Reason, driver.Why.Message = cause.Reason, cause.Message+"; "+driver.Why.Message
		}
	}
}

// lackedRight is what a driver's account may not do, or nothing, and for how long that holds: where nobody can be asked, not for long.
func (r *Reconciler) lackedRight(ctx context.Context, p *pass, driver *lifecycle.Driver) (lifecycle.Cause, time.Duration) {
	account := serviceAccountOf(p.children.drivers, driver.UID)
	missing, err := r.missingRight(ctx, p.stored.GetNamespace(), account)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("the rights of a failed driver cannot be asked for", "pod", driver.Name, "cause", err.Error())
		return lifecycle.Cause{}, lifecycle.AskAgain(0)
	case missing == "":
		return lifecycle.Cause{}, rightsWindow
	}
	return lifecycle.Cause{Reason: apianswer.ReasonForbidden, Message: lacks(account, missing, p.stored.GetNamespace())}, rightsWindow
}

// lacks says what to do about a right that a driver has not.
func lacks(account, right, namespace string) string {
	return fmt.Sprintf("service account %q is forbidden to %s in namespace %q; bind it to a Role like the one of the chart's driver service account",
		account, right, namespace)
}

func serviceAccountOf(pods []corev1.Pod, uid string) string {
	for i := range pods {
		if string(pods[i].UID) == uid && pods[i].Spec.ServiceAccountName != "" {
			return pods[i].Spec.ServiceAccountName
		}
	}
	return "default" // what Kubernetes gives a pod that names none
}

// missingRight returns the first of driverRights that the account lacks, in words, or nothing.
func (r *Reconciler) missingRight(ctx context.Context, namespace, account string) (string, error) {
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
		if err := r.client.Create(ctx, review); err != nil {
			return "", err
		}
		if !review.Status.Allowed {
			return right.Verb + " " + right.Resource, nil
		}
	}
	return "", nil
}
