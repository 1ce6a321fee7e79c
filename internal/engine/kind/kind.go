// Package kind has the types that describe a kind of custom resource to the reconciler: the functions of the kind's
// dialect, and the capabilities of the kind.
package kind

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Kind describes a kind of custom resource to the reconciler. Its functions change nothing but the object that they
// receive, and may be called again for the same object in one pass. Besides their arguments, they may read the current
// configuration and, for the platform's defaults, the labels of the object's namespace in the cache (package kinds).
// The zero value of a capability means that the kind lacks it.
type Kind struct {
	// Name is the name of the controller in logs, metrics and the queue, such as "sparkapplication".
	Name string
	// New returns an empty object.
	New func() client.Object
	// Status returns a pointer to the object's status, which a pass writes.
	Status func(client.Object) any
	// Decide computes the object's status, in memory, from the observed facts, and returns the plan.
	Decide func(client.Object, lifecycle.Observed, time.Time) lifecycle.Plan
	// Events returns the Events of a plan. They are emitted after the status that belongs to the plan is stored.
	Events func(client.Object, lifecycle.Plan) []dialect.Event
	// Render returns the objects that a Create action creates. Objects.Driver is created last, and may be a pod that
	// creates the driver pod. An error is a fault of the user: no attempt of this spec can be rendered. If the function
	// is nil, the kind has no attempts.
	Render func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error)

	Definition Definition
	Served     Served
	Progress   Progress
	Executors  Executors
	// Sources are the fields with the pods of driver and executors, by which messages about these pods name the field.
	Sources       dialect.PodSources
	Auxiliary     Auxiliary
	Inherited     Inherited
	ExecutorChurn ExecutorChurn
	Secrets       Secrets
	// Runs describes the kind's dependents if they are applications. Such a kind has no pods and no other objects of
	// its own, and the capabilities for those are unset.
	Runs *Runs
}

// Definition describes what the API server must serve before the kind can be reconciled.
type Definition struct {
	// RequiredFields are fields, in dotted notation, that the installed definition must have. With another operator's
	// definition of the same kind, the API server would silently drop these fields. The fields store what a later
	// decision needs from an earlier one.
	RequiredFields []string
	// RequiredKinds are optional kinds of dependents that every decision depends on. Passes wait until the caches of
	// these kinds are synced.
	RequiredKinds []schema.GroupVersionKind
}

// Served determines which objects of a kind the operator acts on, and when.
type Served struct {
	// Selects reports whether the operator acts on an object at all. The operator does not change other objects,
	// including their status and finalizers. If the function is nil, all objects are selected.
	Selects func(client.Object) bool
	// Sentinels is true if objects with the label sentinel.Label only probe the operator: the operator decides nothing
	// about them and does not write their status.
	Sentinels bool
	// Yields reports whether an object is new and its launch may wait for a few seconds while many runs have to be
	// started. If the function is nil, no launch waits.
	Yields func(client.Object) bool
}

// Progress has the functions that read the state of an object from its status.
type Progress struct {
	// Observed returns the generation for which the status was last decided; 0 if it was never decided. If the function
	// is nil, a first pass is not more urgent than other passes.
	Observed func(client.Object) int64
	// Standing returns the state of an object for the metrics. If the function is nil, the kind has no gauges.
	Standing func(client.Object) lifecycle.Standing
	// NoApplication excludes the kind from the metrics that count only SparkApplications.
	NoApplication bool
	// Concludes is true if a pass decides everything that follows from its facts, so that the event of its own status
	// write needs no pass. The next pass follows when something else changes, or at the time in the plan. The simulator
	// of the state machine makes no earlier passes either.
	Concludes bool
}

// Executors describes to the reconciler the executors of a kind. The driver creates these executors.
type Executors struct {
	// Render returns the pod that the driver with the given UID would request as the executor with the given id. The
	// pod is never created, only used in dry runs. If the function is nil, no dry runs are sent.
	Render func(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error)
	// Labels returns the labels that an object gives to its executors in addition to its own labels. If the function is
	// nil, it gives none.
	Labels func(client.Object) map[string]string
	// Remembers returns the part of a status that holds the counted executors. It is the only record of executors that
	// start and end between two passes. If the function is nil, such executors are not counted.
	Remembers func(client.Object) *statusv1.OperatorStatus
}

// Auxiliary describes the auxiliary objects of a driver, which Spark does not need but its clients do.
type Auxiliary struct {
	// Wanted returns the wanted auxiliary objects, and the functions that write their state into the object's status.
	// Its arguments are the object after Decide and the facts that Decide got. If the function is nil, the kind has no
	// auxiliary objects.
	Wanted func(client.Object, lifecycle.Observed) dialect.AuxiliaryObjects
	// Vital names kinds of auxiliary objects that clients need all the time. An unwanted object of such a kind stays
	// until the wanted objects of the kind exist. If others edit an object of such a kind, the operator reverses the
	// edit. Objects of all other kinds are created and deleted with the driver.
	Vital []string
	// Sets is true if StatefulSets among the wanted objects own the kind's pods. Then each pod belongs to the custom
	// resource that owns its StatefulSet, and the Secrets of these pods are deleted once no pod mounts them.
	Sets bool
	// ClosedPorts maps the names of ports to their numbers. No Service of the kind may have these ports any more, even
	// if a user added them. An update of a vital Service removes them.
	ClosedPorts map[string]int32
}

// Inherited describes the objects that another operator of the same API created and that this operator continues to
// use.
type Inherited struct {
	// Adopt returns the candidates that another operator created for the object. It adds the identity that they lack:
	// identity.AppUIDLabel, identity.AttemptLabel and, for a driver, a controller. A candidate has no AppUIDLabel, but
	// its label NameLabel contains the object's name, as in our own pods. If the function is nil, no other operator is
	// known.
	Adopt     func(object client.Object, candidates []corev1.Pod) []corev1.Pod
	NameLabel string
	// PodGroup returns the name and our labels of the pod group that another operator created for the object's attempt.
	// The operator needs the name, because it cannot find such a group through its pods. The result is nil if no such
	// group is expected. If the function is nil, the kind has no such groups.
	PodGroup func(client.Object, lifecycle.Observed) *metav1.PartialObjectMetadata
	// Finalizers are finalizers of another operator of the API, which kept its custom resources until it had cleaned
	// up. No other program removes these finalizers, so a deleted custom resource would stay for ever.
	Finalizers []string
}

// ExecutorChurn describes the changes of a status that may be debounced for some seconds (statuswrite.Quiet, MaxDelay,
// ArrivalDelay), because they concern single executors.
type ExecutorChurn struct {
	// Fields are the fields of the status with such changes, as paths of JSON names with dots. If there are none,
	// nothing is debounced.
	Fields []string
	// Minor reports whether a transition can be debounced, because it does not change what the status shows to users.
	// Such a transition is debounced like other executor changes, and the next transition replaces it. If the function
	// is nil, no transition is minor.
	Minor func(lifecycle.Transition) bool
	// DebounceEvents is true if the events of failed executors are debounced too. The operator remembers a failed
	// executor until it is counted in a stored status, but its pod may no longer exist then. So a later pass must be
	// able to emit the event without facts about the pod.
	DebounceEvents bool
}

// Secrets describes which attempts may have Secrets.
type Secrets struct {
	Runners bool // attempts that a pod with spark-submit submits may have Secrets
	// Servers is true if every attempt may have a Secret, whatever its objects show. The operator then needs the right
	// to delete Secrets.
	Servers bool
}

// Runs describes to the reconciler the runs of a kind that creates applications. Each run is a custom resource that
// another Kind handles. The functions read only their arguments and the configuration at the start of the operator.
//
// A run belongs to an owner if its owner references contain the owner's UID, whatever labels the run has. The name of a
// run depends only on its purpose. If a pass tries to create the same run again, it finds the existing run.
type Runs struct {
	// New returns an empty run, and List returns an empty list of runs.
	New  func() client.Object
	List func() client.ObjectList
	// Facts returns what decisions need to know about a run. A change of a run triggers a pass only if it changes these
	// facts.
	Facts func(client.Object) lifecycle.Run
	// Summary returns a copy of a run that has only its metadata and the fields that Facts reads. It leaves out
	// everything that a tenant can make large.
	Summary func(client.Object) client.Object
	// Render returns the run that a Create action creates. An error is a fault of the user: no run of this spec can be
	// created.
	Render func(client.Object, lifecycle.Action) (client.Object, error)
	// Labels returns the labels of all runs of an owner. Live lists of runs select by these labels.
	Labels func(client.Object) map[string]string
	// PodLabel is the label with which the pods of a run name the owner of the run. If PodLabel is empty, the pods of a
	// run whose object is deleted do not lead to the owner.
	PodLabel string
	// Due returns when a run was due, according to the object as it was stored before the run started. It returns zero
	// for a run that somebody requested, because such a run has no due time.
	Due func(object client.Object, run client.Object) time.Time
	// Result returns the result of a run that a notice reports, as metrics count it (schedule.ResultSkipped...). It is
	// empty for other notices.
	Result func(lifecycle.Notice) string
}
