// Package contract states what the engine needs from a kind of custom resources.
//
// Each kind implements the interface Kind. It may have more methods, for things that only some kinds have, such as
// attempts, auxiliary objects or runs. The package of the engine that calls such a method declares an interface for it
// (apply.Launcher, auxiliary.Kind, runs.Kind, ...), and finds it by a type assertion. A kind without the method lacks
// the capability. TestCapabilities of package configured lists which kind has which methods.
//
// The methods change nothing but the object that they receive, and may be called again for the same object in one pass.
// Besides their arguments, they may read the current configuration and, for the platform's defaults, the labels of the
// object's namespace in the cache. They receive only objects of the kind's own type: the kind's New created them, or
// the cache decoded them.
package contract

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Kind is a kind of custom resources that the engine can reconcile.
type Kind interface {
	// Traits returns the constant properties of the kind.
	Traits() *Traits
	// New returns an empty object.
	New() client.Object
	// Status returns a pointer to the object's status, which a pass writes.
	Status(object client.Object) any
	// ObservedGeneration returns the generation for which the status was last decided; 0 if it was never decided.
	ObservedGeneration(object client.Object) int64
	// Standing returns the state of an object for the metrics, from its status.
	Standing(object client.Object) lifecycle.Standing
	// Decide computes the object's status, in memory, from the observed facts, and returns the plan.
	Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan
	// Events returns the Events of a plan. They are emitted after the status that belongs to the plan is stored.
	Events(object client.Object, plan lifecycle.Plan) []dialect.Event
}

// Traits are the constant properties of a kind. The zero value of a property means that the kind lacks it.
type Traits struct {
	// Name is the name of the controller in logs, metrics and the queue, such as "sparkapplication".
	Name string
	// RequiredFields are fields, in dotted notation, that the installed definition must have. With another operator's
	// definition of the same kind, the API server would silently drop these fields. The fields store what a later
	// decision needs from an earlier one.
	RequiredFields []string
	// RequiredKinds are optional kinds of dependents that every decision depends on. Passes wait until the caches of
	// these kinds are synced.
	RequiredKinds []schema.GroupVersionKind
	// Sentinels is true if objects with the label sentinel.Label only probe the operator: the operator decides nothing
	// about them and does not write their status.
	Sentinels bool
	// NoApplication excludes the kind from the metrics that count only SparkApplications.
	NoApplication bool
	// Concludes is true if a pass decides everything that follows from its facts, so that the event of its own status
	// write needs no pass. The next pass follows when something else changes, or at the time in the plan. The simulator
	// of the state machine makes no earlier passes either.
	Concludes bool
	// Sources are the fields with the pods of driver and executors, by which messages about these pods name the field.
	Sources dialect.PodSources

	Auxiliary     Auxiliary
	Inherited     Inherited
	ExecutorChurn ExecutorChurn
	Secrets       Secrets
}

// Auxiliary describes the auxiliary objects of a driver, which Spark does not need but its clients do. They come from
// the method of auxiliary.Kind.
type Auxiliary struct {
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
// use. dependents.Adopter finds them.
type Inherited struct {
	// NameLabel is the label with which the pods of the other operator name their custom resource. Our own pods have
	// it too.
	NameLabel string
	// Finalizers are finalizers of another operator of the API, which kept its custom resources until it had cleaned
	// up. No other program removes these finalizers, so a deleted custom resource would stay for ever.
	Finalizers []string
}

// ExecutorChurn describes the changes of a status that may be debounced for some seconds (package statuswrite),
// because they concern single executors.
type ExecutorChurn struct {
	// Fields are the fields of the status with such changes, as paths of JSON names with dots. If there are none,
	// nothing is debounced.
	Fields []string
	// Minor lists the transitions that can be debounced, because they do not change what the status shows to users.
	// Such a transition is debounced like other executor changes, and the next transition replaces it.
	Minor []Transition
	// DebounceEvents is true if the events of failed executors are debounced too. The operator remembers a failed
	// executor until it is counted in a stored status, but its pod may no longer exist then. So a later pass must be
	// able to emit the event without facts about the pod.
	DebounceEvents bool
}

// Transition is a change of the phase.
type Transition struct{ From, To lifecycle.Phase }

// Secrets describes which attempts may have Secrets.
type Secrets struct {
	Runners bool // attempts that a pod with spark-submit submits may have Secrets
	// Servers is true if every attempt may have a Secret, whatever its objects show. The operator then needs the right
	// to delete Secrets.
	Servers bool
}
