// Package application is the dialect of SparkApplications of spark.apache.org, the API of the Apache Spark project's
// operator. It converts a custom resource to the input of the state machine (lifecycle.App, Memory), writes the state
// machine's decision into the status, and renders objects. The package is pure: its functions read nothing but their
// arguments.
package application

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
)

// Options are the settings of the operator's configuration that apply to every application.
type Options struct {
	// OperatorName is the value of the label spark.operator/name of all objects; empty means DefaultOperatorName.
	OperatorName string
	// Master is the URL of the API server for drivers; empty means the address that it has inside every cluster.
	Master string
	// MissingGrace is how long a new driver pod may be missing in the cache before the operator reads it live.
	MissingGrace time.Duration
	// Trim keeps only the states of the current attempt in status.stateTransitionHistory. The states of the previous
	// attempt move to status.previousAttemptSummary, and older ones are dropped.
	Trim bool
	// Run is the maximum duration of a run, for which this API has no field; 0 means no limit.
	Run time.Duration
	// Authenticate makes drivers and executors encrypt their traffic, unless an application sets the encryption itself.
	// Drivers and executors authenticate each other in any case.
	Authenticate bool
	// Submission is the submission mode of all applications, for which this API has no field; empty means Auto.
	Submission dialect.SubmissionMode
	// Outside allows objects that make drivers reachable from outside the cluster: Ingresses, routes, and Services of
	// type NodePort and LoadBalancer. If false, Ingresses and routes are not created and Services are ClusterIP.
	Outside bool
	// StatefulSets says that drivers may manage StatefulSets, which an allocator of executors needs.
	StatefulSets bool
	// RunnerAccount is the service account of pods that run spark-submit; empty means the driver's service account.
	RunnerAccount string
	// Own is the operator's service account, which no pod of an application may use.
	Own dialect.ServiceAccount
	// Rules are the rules of the platform for the application's namespace; nil if there are none.
	Rules dialect.Rules
	// Defaults are the platform's defaults in the application's namespace; nil if there are none.
	Defaults *platform.Settings
}

// Applications decides about SparkApplications and renders their objects. It is pure: its methods read nothing but
// their arguments.
type Applications struct{ Options }

// Decide reads the application, runs the state machine and writes the result into the status of app in memory. The
// status of an application that is being deleted does not change.
func (a Applications) Decide(app *sparkv1.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	hold := status.Hold(app, seen.Quota != nil)
	a.Defaults = launch.Admitted(a.Defaults, seen)

	if hold.Frozen {
		status.SetCondition(app, metav1.Condition{Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: hold.Cause.Reason, Message: hold.Cause.Message}, now)
		return lifecycle.Plan{Notices: hold.Notices(), Next: status.Memory(&app.Status)}
	}

	attempt := a.present(app)
	wanted := attempt.wanted()

	memory, before := takeover.Memory(app, wanted, seen, now), status.Current(&app.Status)
	if app.OutOfBounds != "" {
		wanted = dialect.UnreadableSpec(wanted, app.OutOfBounds, true, memory)
	}

	wanted.Hold, wanted.Suspend = hold.Cause, hold.Suspends

	var next *launched
	if dialect.MayLaunch(wanted, memory, seen) {
		next = a.next(app, launch.NextAttempt(memory), now)
		wanted.Submitter, wanted.Invalid = causes(next)
	}

	plan := application.Step(wanted, memory, seen, now)
	next.Attach(plan)

	if plan.Next.AttemptID == lifecycle.AttemptID(string(app.UID), plan.Next.Attempt) {
		plan.Next.AttemptID = idOf(attempt.app, plan.Next.Attempt, seen)
	}

	if wanted.Deleting {
		return plan
	}

	var taken []lifecycle.Notice
	if takeover.Due(&app.Status) && memory.Attempt > 0 {
		taken = append(taken, takeover.Notice(before, memory))
	}

	var conditions []metav1.Condition
	if seen.TransientError != nil {
		conditions = slices.Clone(app.Status.Conditions)
	}

	entered := status.Encode(app, status.Decision{Wanted: wanted, Seen: seen, Plan: plan, At: now, Trim: a.Trim})
	plan.Notices = slices.Concat(taken, entered, plan.Notices)
	launch.Remember(a.Defaults, status.Stored(app), memory, plan.Next)
	launch.Link(a.Defaults, app.Spec.SparkConf, status.Stored(app), plan.Next, plan.Next.AttemptID)

	if apache.TellsHold(wanted.Hold, plan.Next.Phase) { // Ready names the hold, also during errors
		plan.Notices = append(plan.Notices, hold.Notices()...)
		return plan
	}

	dialect.EncodeTransientError(&app.Status.Conditions, plan.Next.Phase, seen.TransientError, conditions, app.Generation, now)
	return plan
}

// idOf returns the id (spark.app.id) of an attempt. If the driver pod already exists, the id is read from this pod.
// This happens if an earlier pass launched the attempt without storing the launch in the status. Otherwise idOf
// computes the id for a new attempt.
func idOf(app *sparkv1.SparkApplication, attempt int32, seen lifecycle.Observed) string {
	if driver := seen.Driver(attempt); driver != nil && driver.AppID != "" {
		return driver.AppID
	}
	return naming.NewID(app, attempt)
}

// Events returns the events of a plan that Decide returned, oldest first.
func Events(plan lifecycle.Plan) []dialect.Event { return status.Events(plan) }

// FailureReason returns the reason of an event about a failed pass over an application, or about a failed write of its
// status.
func FailureReason(app *sparkv1.SparkApplication, ofStatus bool) string {
	return apache.FailureReason(status.Memory(&app.Status).Phase, status.Hold(app, false), app.DeletionTimestamp != nil, ofStatus)
}

// Adopt returns copies of those candidates that the Apache Spark project's operator created for the application
// (takeover.Pods).
func (Applications) Adopt(app *sparkv1.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	return takeover.Pods(app, candidates)
}
