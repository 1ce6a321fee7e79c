// Package application is the dialect of SparkApplications of spark.apache.org, as the operator of the Apache Spark project has them. It reads custom
// resources into what the machine decides by (lifecycle.App, Memory), writes the decision into their statuses, and renders the objects that a decision
// asks for. It is pure: nothing here reads anything but its arguments.
package application

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// Options is what the operator's configuration gives every application. The zero value of a field means what it says.
type Options struct {
	// OperatorName is the value of the label spark.operator/name of all that is made; empty means DefaultOperatorName.
	OperatorName string
	// Master is the API server as drivers reach it; empty means the address that it has inside every cluster.
	Master string
	// MissingGrace is how long a driver pod that was just created may be invisible before it is looked for live.
	MissingGrace time.Duration
	// Trim keeps the states of the current attempt alone in status.stateTransitionHistory; those of the one before go into
	// status.previousAttemptSummary, and earlier ones are dropped.
	Trim bool
	// Run bounds a whole run, for which this API has no field; 0 means no bound.
	Run time.Duration
	// Authenticate lets drivers and executors encrypt what they send, where an application does not say otherwise. They authenticate each other anyway.
	Authenticate bool
	// Submission is the mode of all applications, which this API has no field for; empty means Auto.
	Submission v1beta2.SubmissionMode
	// Outside lets applications choose what leads to their drivers from outside the cluster: Ingresses, routes, and Services of type NodePort and
	// LoadBalancer. Without it there are none, and Services are ClusterIP.
	Outside bool
	// RunnerAccount is the service account of pods that run spark-submit; empty means the driver's.
	RunnerAccount string
	// Own is the operator's service account, which no pod of an application may have.
	Own dialect.ServiceAccount
}

// Applications decides about and renders SparkApplications. It is pure: its methods read nothing but their arguments.
type Applications struct{ Options }

// Decide reads the application, lets the machine decide, and writes what follows into the application's status, in memory. One that is being deleted
// keeps the status that it has.
func (a Applications) Decide(app *sparkv1.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	wanted := a.app(app)
	memory, before := takeOver(app, wanted, seen, now), current(&app.Status)
	if app.OutOfBounds != "" {
		wanted = dialect.Unread(wanted, app.OutOfBounds, true, memory)
	}
	if foreign(&app.Status) {
		if !wanted.Deleting {
			encodeForeign(app, now)
		}
		return lifecycle.Plan{Next: memory}
	}
	var built *dialect.Built
	if dialect.MayLaunch(wanted, memory, seen) {
		built, wanted.Submitter, wanted.Invalid = a.prospect(app, dialect.NextAttempt(memory), now)
	}
	plan := application.Step(wanted, memory, seen, now)
	built.Offer(plan)
	if plan.Next.AttemptID == lifecycle.AttemptID(string(app.UID), plan.Next.Attempt) {
		plan.Next.AttemptID = idOf(app, plan.Next.Attempt, seen)
	}
	if wanted.Deleting {
		return plan
	}
	if taking(&app.Status) && memory.Attempt > 0 {
		plan.Tell = append([]lifecycle.Notice{takenOver(before, memory)}, plan.Tell...)
	}
	var conditions []metav1.Condition
	if seen.Weather != nil {
		conditions = slices.Clone(app.Status.Conditions)
	}
	plan.Tell = append(plan.Tell, a.encode(app, wanted, plan, seen, now)...)
	dialect.EncodeWeather(&app.Status.Conditions, plan.Next.Phase, seen.Weather, conditions, app.Generation, now)
	return plan
}

// idOf is the id of an attempt that was launched in a decision, which is spark.app.id here: what its driver says, where its launch was not remembered.
func idOf(app *sparkv1.SparkApplication, attempt int32, seen lifecycle.Observed) string {
	if driver := seen.Driver(attempt); driver != nil && driver.AppID != "" {
		return driver.AppID
	}
	return newAppID(app, attempt)
}
