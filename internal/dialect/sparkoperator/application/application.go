// Package application is the dialect of SparkApplications of sparkoperator.k8s.io. It converts a custom resource into
// the input of the packages lifecycle and spark/submit, and writes the decision into the custom resource's status. It
// is pure.
//
// A decision and a launch are joined here from the parts below this package, which depend on each other in one
// direction: naming, monitoring, specification, validate, overwritten, batch, takeover, status, exposure.
// application.go has the entrances, attempt.go the launch of an attempt, render.go its request, submission.go who
// submits it, wanted.go what the state machine reads of a spec, and review.go the warnings for users.
package application

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/exposure"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options are the settings of the operator's configuration that apply to every application.
type Options struct {
	// DefaultTTL is how long a finished application is kept if it does not set timeToLiveSeconds; 0 means forever.
	DefaultTTL time.Duration
	// MaxTrackedExecutors is the maximum number of entries in status.executorState; 0 means none. The counts always
	// include all executors.
	MaxTrackedExecutors int
	// Limits are the deadlines of applications that do not set their own; 0 means no deadline.
	Limits lifecycle.Deadlines
	// Master is the URL of the API server that drivers use; empty means submit.DefaultMaster.
	Master string
	// MissingGrace is how long a new driver pod may be missing in the cache before the operator reads it live.
	MissingGrace time.Duration
	// Batch configures the batch schedulers that applications may use.
	Batch batch.Options
	// UI configures how the web UIs of drivers are exposed.
	UI sparkoperator.UI
	// Authenticate makes drivers and executors authenticate each other and encrypt their traffic, unless an application
	// sets the keys for this itself.
	Authenticate bool
	// Submission is the submission mode of applications that do not set one; empty means Auto. Native also overrides
	// the mode that an application sets: the operator then creates all driver pods and never uses spark-submit.
	Submission dialect.SubmissionMode
	// RunnerAccount is the service account of pods that run spark-submit; empty means the driver's.
	RunnerAccount string
	// Admission lists the mechanisms that can change executor pods at admission: a policy and a webhook.
	Admission admit.Available
	// StatefulSets says that drivers may manage StatefulSets, which an allocator of executors needs.
	StatefulSets bool
	// Own is the operator's service account, which no pod of an application may use.
	Own dialect.ServiceAccount
	// Rules are the rules of the platform for the application's namespace; nil if there are none.
	Rules dialect.Rules
	// Defaults are the platform's defaults in the application's namespace; nil if there are none.
	Defaults *platform.Settings
}

// Dialect decides about SparkApplications and renders their objects. It is pure: its methods read nothing but their
// arguments.
type Dialect struct{ Options }

// Decide reads the application, runs the state machine, and writes the result into the status of app, in memory. It
// does not change the status of an application that is being deleted.
func (d Dialect) Decide(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	current := d.present(app)

	wanted, memory := current.Attempt.wanted(), memoryOf(app, seen, now)
	if app.OutOfBounds != "" {
		wanted = dialect.UnreadableSpec(wanted, app.OutOfBounds, app.Status.ObservedGeneration != app.Generation, memory)
	}

	if takeover.Foreign(&app.Status) {
		if !wanted.Deleting {
			takeover.ExplainForeign(app, now)
		}
		return lifecycle.Plan{Next: memory}
	}

	var next *launched
	if dialect.MayLaunch(wanted, memory, seen) {
		next = d.next(app, launch.NextAttempt(memory), now)
		if wanted.Invalid = dialect.Invalid(faults(next)); wanted.Invalid == nil {
			_, wanted.Submitter, _ = next.Objects()
		}
	}

	plan := application.Step(wanted, memory, seen, now)
	next.Attach(plan)

	if next != nil && plan.Next.Attempt != memory.Attempt {
		current = next
	}

	if takeover.Needed(&app.Status) {
		plan.Notices = append([]lifecycle.Notice{takeover.Notice(app, memory)}, plan.Notices...)
	}

	if !wanted.Deleting {
		var before []metav1.Condition
		if seen.TransientError != nil {
			before = slices.Clone(app.Status.Conditions)
		}

		plan.Notices = append(plan.Notices, d.decision(current, wanted, now).Encode(plan, seen)...)
		launch.Remember(d.Defaults, app.Status.Operator, memory, plan.Next)
		launch.Link(d.Defaults, app.Spec.SparkConf, app.Status.Operator, plan.Next, app.Status.SparkApplicationID)
		dialect.EncodeTransientError(&app.Status.Conditions, plan.Next.Phase, seen.TransientError, before, app.Generation, now)
	}
	return plan
}

// memoryOf returns the operator's memory of an application. If another operator wrote the status, the memory is derived
// from that status and from the driver pods.
func memoryOf(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	m := status.Memory(&app.Status)
	if takeover.Needed(&app.Status) {
		m = takeover.Complete(app, m, seen, now)
	}
	return m
}

// decision returns what the status shows of a launch besides the state.
func (d Dialect) decision(l *launched, wanted lifecycle.App, now time.Time) status.Decision {
	return status.Decision{
		App: l.Attempt.own, Merged: l.Attempt.app, Wanted: wanted, Now: now,
		MaxTrackedExecutors: d.MaxTrackedExecutors, Admission: d.Admission, Configuration: l.Configuration,
	}
}

// Sources are the fields with the pods of an application.
var Sources = dialect.Sources("spec.driver", "spec.executor", "template")

// Executor returns the executor pod that the driver of an attempt would create. The operator never creates this pod,
// but sends it to the API server in a dry run. The pod differs from the real one in values that only a running driver
// has (see native.Executor).
//
// The arguments id and driver are the executor's id and the driver pod's UID. An error is a *dialect.FieldError that
// names the field to correct, or a *submit.Error with NotNative. NotNative means that the operator cannot build the
// submission and only spark-submit can, or that the platform's defaults have changed since the launch
// (launch.ErrDefaultsChanged).
func (d Dialect) Executor(app *v1beta2.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	switch {
	case launch.Changed(d.Defaults, app.Status.Operator, attempt):
		return nil, launch.ErrDefaultsChanged
	case specification.DriverOnly(&app.Spec):
		return nil, launch.ErrNoExecutors
	}
	return d.next(app, attempt, now).ExecutorOf(id, driver)
}

// Render returns the objects of a Create action. If the action launches an attempt, these are the attempt's objects. If
// spark-submit creates the driver pod, Objects.Driver is the pod that runs spark-submit, and Objects.Before contains a
// Secret for it. If the action creates the driver's PodDisruptionBudget, the budget is the only element of
// Objects.Before. An error is a *dialect.FieldError that names the field to correct.
func (d Dialect) Render(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	switch {
	case action.Verb == lifecycle.Create && action.Part == lifecycle.DriverBudget:
		return driverBudget(app, action.Attempt), nil
	case action.Verb != lifecycle.Create || action.Part != lifecycle.Submission:
		return submit.Objects{}, lifecycle.Bugf("no objects can be rendered for the action %v", action)
	}

	id := launch.Identity{Number: action.Attempt, ID: status.SubmissionID(app, action.Attempt), At: now}

	l, objects, err := launch.Attached(action, id, func() *launched { return d.next(app, action.Attempt, now) })
	if err != nil {
		return submit.Objects{}, err
	}

	objects.Warnings = slices.Concat(objects.Warnings, specWarnings(l))
	for _, p := range monitoring.Problems(l.Attempt.app, l.Configuration) {
		objects.Warnings = append(objects.Warnings, p.Message)
	}

	if ignored := batch.QueueIgnored(app); ignored != "" {
		objects.Warnings = append(objects.Warnings, ignored)
	}

	if config := monitoring.ConfigMap(app, action.Attempt, id.ID); config != nil {
		objects.Before = slices.Insert(objects.Before, 0, config)
	}
	return objects, nil
}

// Adopt returns copies of those candidates that another operator of this API created for the application
// (takeover.Adopt).
func (Dialect) Adopt(app *v1beta2.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	return takeover.Adopt(app, candidates)
}

// InheritedGroup returns the identity of the PodGroup that another operator created for the attempt in the status, if
// it is no longer needed (takeover.InheritedGroup).
func (d Dialect) InheritedGroup(app *v1beta2.SparkApplication, seen lifecycle.Observed) *metav1.PartialObjectMetadata {
	return takeover.InheritedGroup(app, d.Batch, seen)
}

// Events returns the events of a plan, oldest first.
func Events(app *v1beta2.SparkApplication, plan lifecycle.Plan) []dialect.Event {
	return status.Events(app, plan)
}

// exposer returns the settings by which drivers are made reachable.
func (d Dialect) exposer() exposure.Exposer { return exposure.Exposer{UI: d.UI, Rules: d.Rules} }

// AuxiliaryObjects returns the auxiliary objects that should exist according to the status that Decide has written.
func (d Dialect) AuxiliaryObjects(app *v1beta2.SparkApplication, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	return d.exposer().AuxiliaryObjects(app, seen, func() *v1beta2.SparkApplication { return d.present(app).Attempt.app })
}
