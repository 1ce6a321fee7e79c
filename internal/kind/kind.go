// Package kind says what the reconciler needs to know about a kind of custom resource: pure functions of a dialect, and what they can do.
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

// Kind is what the reconciler needs to know about a custom resource. Its functions are pure: they read nothing but their arguments,
// and may be called again for the same object in one pass. The zero value of each capability is a kind without it.
type Kind struct {
	// Name of the controller in logs, metrics and the queue, such as "sparkapplication".
	Name string
	// New returns an empty object.
	New func() client.Object
	// Status returns a pointer to the object's status, which is what a pass writes.
	Status func(client.Object) any
	// Decide writes what follows from what was seen into the object's status, in memory, and returns the plan.
	Decide func(client.Object, lifecycle.Observed, time.Time) lifecycle.Plan
	// Events returns what to tell about a plan once the status that holds it is stored.
	Events func(client.Object, lifecycle.Plan) []Event
	// Render returns the objects that a Create action makes; Objects.Driver comes last, and may be a pod that makes the driver pod. An error is
	// the user's: no attempt of this spec can be rendered. Without the function the kind has no attempts.
	Render func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error)

	Definition Definition
	Served     Served
	Progress   Progress
	Executors  Executors
	Beside     Beside
	Inherited  Inherited
	Crowd      Crowd
	Secrets    Secrets
	// Runs says that the kind's children are applications, and which; then it has no pods or anything else of its own, and what is said of them
	// is left out.
	Runs *Runs
}

// Definition is what must be served before anything is decided.
type Definition struct {
	// Keeps are fields, with dots between their names, that the installed definition must have: another operator's definition of the same kind would
	// drop them without a word, and with them what a decision remembers for the next.
	Keeps []string
	// Needs are optional kinds of children without which nothing can be decided: passes wait until their caches are full.
	Needs []schema.GroupVersionKind
}

// Served says which objects are acted on, and when.
type Served struct {
	// Selects reports whether the operator is to act on an object at all. One that it does not select is left as it is, its status and its finalizers included.
	// Without the function all are.
	Selects func(client.Object) bool
	// Sentinels says that objects with the label sentinelLabel are there to probe the operator: nothing is decided about them, and their status is not written.
	Sentinels bool
	// Yields says that an object was not looked at yet and that its launch may wait for a few seconds while many runs are to be started. Without the
	// function none waits.
	Yields func(client.Object) bool
}

// Progress is what a status tells of where an object stands.
type Progress struct {
	// Observed returns the generation that the status was last decided for; 0 where there was none. Without the function no look is more urgent for being the
	// first.
	Observed func(client.Object) int64
	// Standing tells where an object stands, by its status, for the metrics. Without the function there are no gauges.
	Standing func(client.Object) telemetry.Standing
	// NoApplication leaves the kind out of the metrics that count SparkApplications alone.
	NoApplication bool
	// Concludes says that a pass which wrote a status decided all that follows from what it saw, so that nothing follows from the status itself: the next look is
	// due when something else changes, or when the plan says. The machine's simulator looks no sooner either.
	Concludes bool
}

// Executors is what the reconciler needs to know of executors, which the driver makes.
type Executors struct {
	// Render returns the pod that the driver of an attempt, of the UID given, would ask the API server for as the executor of an id. It is never
	// created, only asked about. Without the function nobody asks.
	Render func(object client.Object, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error)
	// Labels are the labels that an object gives its executors besides its own. Without the function there are none.
	Labels func(client.Object) map[string]string
	// Remembers is what a status remembers of executors that were counted: of those that come and go between two looks nobody else tells. Without the function
	// they are not counted.
	Remembers func(client.Object) *v1beta2.OperatorStatus
}

// Beside is what stands beside the driver for others than Spark.
type Beside struct {
	// Wanted returns what is to stand there, of the object as Decide left it, and what writes into that object what became of it. It is told what Decide was
	// told. Without the function there is nothing.
	Wanted func(client.Object, lifecycle.Observed) Surroundings
	// Vital names kinds of it that its clients cannot do without. An object of such a kind that is not wanted any more stays
	// until those that are stand, and what somebody else changed of one is put back. Without it all of them are of the kinds that come and go with the driver.
	Vital []string
	// Sets says that StatefulSets among what is wanted keep the kind's pods, so that each pod belongs to the custom resource
	// which owns its StatefulSet. Their Secrets are deleted once no pod mounts them.
	Sets bool
	// Closed are ports, by name and number, that no Service of the kind has any more, whoever wrote them: an update of a vital Service removes them.
	Closed map[string]int32
}

// Inherited is what another operator of the API left.
type Inherited struct {
	// Adopt returns those of the pods that another operator made for the object, with the identity that they lack: identity.AppUIDLabel, identity.AttemptLabel, and a
	// controller for a driver. Candidates carry none of our labels, and the object's name as NameLabel, which ours have as well. Without the
	// function there is no other operator.
	Adopt     func(object client.Object, candidates []corev1.Pod) []corev1.Pod
	NameLabel string
	// GroupLeft returns the identity, with our labels, of an object that another operator made for the object's attempt and that its pods do not lead to;
	// nil where there is none to be expected. Without the function there is none.
	GroupLeft func(client.Object, lifecycle.Observed) *metav1.PartialObjectMetadata
	// Releases are finalizers by which another operator of the API kept its custom resources until it had cleaned up. Nobody else takes them off, and one
	// that is deleted would stay for ever.
	Releases []string
}

// Crowd is what of a status may be put off for some seconds (quiet, patience, arrival), since it tells of executors one by one.
type Crowd struct {
	// Fields are what tells of them, as paths of JSON names with dots. Without them nothing is put off.
	Fields []string
	// Minor tells transitions that nobody waits for, since the status says nothing else of them than before: they are put off like what the crowd is at, and the
	// next transition takes their place. Without it none is.
	Minor func(lifecycle.Transition) bool
	// News lets the news of executors that failed wait as long. Such an executor is remembered until it is stored, whether or not its pod is there
	// then. The status must need nothing but the next look at it to tell.
	News bool
}

// Secrets says which attempts may have Secrets.
type Secrets struct {
	Runners bool // those that a pod submits
	// Servers says that every attempt may have one, whatever its objects show. The operator must have the right to delete Secrets then.
	Servers bool
}

// Event is a Kubernetes Event about the custom resource.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string // CamelCase, for machines
	Message string // for people
}

// Surroundings is what is to stand beside a driver for others than Spark.
type Surroundings struct {
	// Objects that are wanted. Each has the owner's identity and a digest of itself as lifecycle.ContentLabel.
	Objects []client.Object
	// Unsettled leaves everything as it is: an attempt is on its way out, or the application is.
	Unsettled bool
	// Stays leaves Services as they are, though nothing is wanted any more: they go with the driver's pod. What leads to them from outside goes at once, as the
	// next application may want the same address.
	Stays bool
	// Read names the Services among Objects whose address the status lacks.
	Read []string
	// Told writes into the object's status what became of them, in memory, and returns what is to be told about it once that is stored. It is called once
	// in every pass that is not Unsettled, and must come to the same whenever it is told the same.
	Told func([]lifecycle.Surrounding, time.Time) []Event
	// Decides is there instead of Told where the object lives by its surroundings. It returns what goes on from the pass's plan.
	Decides func([]lifecycle.Surrounding, time.Time) lifecycle.Plan
}

// Runs is what the reconciler needs to know about the children of a kind that starts applications: each is a custom resource that another Kind
// carries through its life. Its functions are pure, as a Kind's are.
//
// A run is its owner's by the owner's UID among its owner references, whatever labels it has. Its name is computed from what it is for, so that
// creating one twice finds the first.
type Runs struct {
	// New returns an empty run, and List an empty list of them.
	New  func() client.Object
	List func() client.ObjectList
	// Facts reads what decisions need to know of one. What changes nothing of it wakes nobody.
	Facts func(client.Object) lifecycle.Run
	// Head is a run with its metadata and what Facts reads, and nothing that a tenant can make large.
	Head func(client.Object) client.Object
	// Render returns the run that a Create action makes. An error is the user's: no run of this spec can be made.
	Render func(client.Object, lifecycle.Action) (client.Object, error)
	// Labels are what all runs of an owner have: they are looked for live by these.
	Labels func(client.Object) map[string]string
	// PodLabel is the label by which the pods of a run name its owner; empty where none does, and then nothing is known of a run whose object is gone.
	PodLabel string
	// Due tells when a run was to start, of the object as it was stored before; zero for one that has no time, since somebody asked for it.
	Due func(object client.Object, run client.Object) time.Time
	// Result is what a notice says became of a run, as metrics count it (telemetry.RunSkipped...); empty for one that says nothing of the kind.
	Result func(lifecycle.Notice) string
}
