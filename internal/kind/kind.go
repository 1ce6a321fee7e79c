// Package kind describes what the reconciler needs to know about a kind of custom resource: the pure functions of its
// dialect, and its capabilities.
package kind

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Kind describes a kind of custom resource to the reconciler. Its functions are pure: they read only their arguments,
// and may be called again for the same object in one pass. The zero value of a capability means that the kind lacks it.
type Kind struct {
	// Name is the name of the controller in logs, metrics and the queue, such as "sparkapplication".
	Name string
	// New returns an empty object.
	New func() client.Object
	// Status returns a pointer to the object's status, which a pass writes.
	Status func(client.Object) any
	// Decide computes the object's status, in memory, from the observed facts, and returns the plan.
	Decide func(client.Object, lifecycle.Observed, time.Time) lifecycle.Plan
	// Events returns the Events of a plan, which are emitted once its status is stored.
	Events func(client.Object, lifecycle.Plan) []Event
	// Render returns the objects that a Create action creates. Objects.Driver is created last, and may be a pod that
	// creates the driver pod. An error is the user's: no attempt of this spec can be rendered. A kind without the
	// function has no attempts.
	Render func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error)

	Definition    Definition
	Served        Served
	Progress      Progress
	Executors     Executors
	Auxiliary     Auxiliary
	Inherited     Inherited
	ExecutorChurn ExecutorChurn
	Secrets       Secrets
	// Runs describes the kind's dependents if they are applications. Such a kind has no pods and no other objects of
	// its own, and the capabilities that concern these are unset.
	Runs *Runs
}

// Definition describes what the API server must serve before the kind can be reconciled.
type Definition struct {
	// RequiredFields are fields, in dotted notation, that the installed definition must have. Another operator's
	// definition of the same kind would silently drop them, and with them the memory that one decision leaves to the
	// next.
	RequiredFields []string
	// RequiredKinds are optional kinds of dependents without which nothing can be decided. Passes wait until their
	// caches are synced.
	RequiredKinds []schema.GroupVersionKind
}

// Served determines which objects the operator acts on, and when.
type Served struct {
	// Selects reports whether the operator acts on an object at all. Other objects are not changed, including their
	// status and finalizers. Without the function, all objects are selected.
	Selects func(client.Object) bool
	// Sentinels says that objects with the label sentinelLabel only probe the operator: nothing is decided about them,
	// and their status is not written.
	Sentinels bool
	// Yields reports whether an object is new and its launch may wait for a few seconds while many runs have to be
	// started. Without the function, no launch waits.
	Yields func(client.Object) bool
}

// Progress has the functions that read the state of an object from its status.
type Progress struct {
	// Observed returns the generation that the status was last decided for; 0 if there was none. Without the function,
	// a first pass is not more urgent than others.
	Observed func(client.Object) int64
	// Standing returns the state of an object for the metrics. Without the function there are no gauges.
	Standing func(client.Object) telemetry.Standing
	// NoApplication excludes the kind from the metrics that count only SparkApplications.
	NoApplication bool
	// Concludes says that a pass decides everything that follows from its facts, so that the event of its own status
	// write needs no pass. The next pass is due when something else changes, or at the time in the plan. The simulator
	// of the state machine makes no earlier passes either.
	Concludes bool
}

// Executors describes to the reconciler the executors of a kind, which the driver creates.
type Executors struct {
	// Render returns the pod that the driver with the given UID would request as the executor with the given id. The
	// pod is never created, only used in dry runs. Without the function there are no dry runs.
	Render func(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error)
	// Labels returns the labels that an object gives its executors besides its own. Without the function there are
	// none.
	Labels func(client.Object) map[string]string
	// Remembers returns the part of a status about counted executors. It is the only record of executors that come and
	// go between two passes. Without the function they are not counted.
	Remembers func(client.Object) *v1beta2.OperatorStatus
}

// Auxiliary describes the auxiliary objects of a driver, which other clients than Spark need.
type Auxiliary struct {
	// Wanted returns the wanted auxiliary objects for the object as Decide left it, and the functions that write their
	// state into the object's status. It gets the same facts as Decide. Without the function there are none.
	Wanted func(client.Object, lifecycle.Observed) AuxiliaryObjects
	// Vital names kinds of auxiliary objects that clients cannot do without. An unwanted object of such a kind stays
	// until the wanted ones of the kind exist, and somebody else's edits of one are reversed. All other kinds come and
	// go with the driver.
	Vital []string
	// Sets says that the kind's pods belong to StatefulSets among the wanted objects, so that each pod belongs to the
	// custom resource that owns its StatefulSet. Their Secrets are deleted once no pod mounts them.
	Sets bool
	// ClosedPorts are ports, by name and number, that no Service of the kind may have any more, even if a user added
	// them. An update of a vital Service removes them.
	ClosedPorts map[string]int32
}

// Inherited describes the objects that another operator of the same API created and that this operator continues.
type Inherited struct {
	// Adopt returns those of the pods that another operator created for the object, with the identity that they lack:
	// identity.AppUIDLabel, identity.AttemptLabel, and a controller for a driver. Candidates carry none of our labels,
	// and have the object's name as NameLabel, which our pods have as well. Without the function there is no other
	// operator.
	Adopt     func(object client.Object, candidates []corev1.Pod) []corev1.Pod
	NameLabel string
	// PodGroup returns the identity, with our labels, of the pod group that another operator created for the object's
	// attempt, which cannot be found through its pods. It returns nil if no group is expected. If the function is nil,
	// there are no such groups.
	PodGroup func(client.Object, lifecycle.Observed) *metav1.PartialObjectMetadata
	// Finalizers are finalizers of another operator of the API, which kept its custom resources until it had cleaned
	// up. Nobody else removes them, so that a deleted custom resource would stay for ever.
	Finalizers []string
}

// ExecutorChurn describes the changes of a status that may be debounced for some seconds (statuswrite.Quiet, MaxDelay,
// ArrivalDelay), because they concern single executors.
type ExecutorChurn struct {
	// Fields are the fields with such changes, as paths of JSON names with dots. Without them nothing is debounced.
	Fields []string
	// Minor reports whether nobody waits for a transition, since the status shows the same as before. It is debounced
	// like other executor changes, and the next transition replaces it. Without the function there is no such
	// transition.
	Minor func(lifecycle.Transition) bool
	// DebounceEvents also debounces the events of failed executors. Such an executor is remembered until it is stored,
	// whether or not its pod still exists then. The events must not need more than the next pass can see.
	DebounceEvents bool
}

// Secrets describes which attempts may have Secrets.
type Secrets struct {
	Runners bool // attempts that a pod submits
	// Servers is true if every attempt may have a Secret, whatever its objects show. The operator must then have the
	// right to delete Secrets.
	Servers bool
}

// Event is a Kubernetes Event about the custom resource.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string // CamelCase, for machines
	Message string // for people
}

// AuxiliaryObjects describes the wanted auxiliary objects of a driver.
type AuxiliaryObjects struct {
	// Objects are the wanted objects. Each has the owner's identity and its own digest as lifecycle.ContentLabel.
	Objects []client.Object
	// Unsettled leaves all objects unchanged: an attempt or the application is ending.
	Unsettled bool
	// KeepServices leaves Services unchanged although nothing is wanted any more: they are deleted with the driver's
	// pod. Objects that lead to them from outside are deleted at once, since the next application may want the same
	// address.
	KeepServices bool
	// ReadAddresses names the Services among Objects whose address is missing in the status.
	ReadAddresses []string
	// Record writes the state of the objects into the object's status, in memory, and returns the Events to emit once
	// that is stored. It is called once in every pass that is not Unsettled, and must return the same for the same
	// arguments.
	Record func([]lifecycle.AuxiliaryObject, time.Time) []Event
	// Decide replaces Record if the state of the object depends on its auxiliary objects. It returns a plan that
	// continues the pass's plan.
	Decide func([]lifecycle.AuxiliaryObject, time.Time) lifecycle.Plan
}

// Runs describes to the reconciler the runs of a kind that creates applications. Each run is a custom resource that
// another Kind handles. The functions are pure, as a Kind's are.
//
// A run belongs to an owner if its owner references contain the owner's UID, whatever labels the run has. Its name is
// computed from its purpose, so that a second creation finds the run of the first.
type Runs struct {
	// New returns an empty run, and List an empty list of them.
	New  func() client.Object
	List func() client.ObjectList
	// Facts reads what decisions need to know about a run. A change that does not change the facts triggers no pass.
	Facts func(client.Object) lifecycle.Run
	// Summary returns a run with its metadata and the fields that Facts reads, without anything that a tenant can make
	// large.
	Summary func(client.Object) client.Object
	// Render returns the run that a Create action creates. An error is the user's: no run of this spec can be created.
	Render func(client.Object, lifecycle.Action) (client.Object, error)
	// Labels returns the labels of all runs of an owner, by which runs are listed live.
	Labels func(client.Object) map[string]string
	// PodLabel is the label with which the pods of a run name its owner. If it is empty, nothing is known about a run
	// whose object is deleted.
	PodLabel string
	// Due returns when a run was to start, by the object as it was stored before. It returns zero for a run that
	// somebody requested, which has no time.
	Due func(object client.Object, run client.Object) time.Time
	// Result returns the result of a run in a notice, as metrics count it (telemetry.RunSkipped...). It is empty for
	// other notices.
	Result func(lifecycle.Notice) string
}
