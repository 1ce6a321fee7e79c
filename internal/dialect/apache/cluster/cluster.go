// Package cluster is the dialect of SparkClusters of spark.apache.org: standalone clusters of Spark. It reads a custom
// resource into the input of internal/lifecycle/cluster, writes the decision into the status, and renders the objects.
// The package is pure: its functions read nothing but their arguments.
package cluster

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
	"github.com/sparkoperator/spark-operator/spark/standalone"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options are the settings of the operator's configuration that apply to every cluster.
type Options struct {
	// OperatorName is the value of the label spark.operator/name of all objects; empty means DefaultOperatorName.
	OperatorName string
	// ClusterDomain is the domain of the names of Services; empty means "cluster.local".
	ClusterDomain string
	// MasterStart is the maximum time until the master of a new cluster is ready, counted from the time at which the
	// API server has accepted all objects. During the rollout of an edit, it is also the maximum time between two pods
	// that are replaced. 0 means no deadline.
	MasterStart time.Duration
	// Submitters selects the pods that may send applications to a master (standalone.Request). Empty means the drivers
	// in the namespace.
	Submitters string
	// Trim keeps only the states of the current attempt in status.stateTransitionHistory. A cluster gets another
	// attempt when it is edited after a failure.
	Trim bool
	// Own is the operator's service account, which no pod of a cluster may use.
	Own dialect.ServiceAccount
	// Defaults are the platform's defaults in the cluster's namespace; nil if there are none.
	Defaults *platform.Settings
	// Rules are the rules of the platform for the cluster's namespace; nil if there are none.
	Rules dialect.Rules
}

// Clusters decides about SparkClusters and renders their objects. It is pure: its methods read nothing but their
// arguments.
type Clusters struct{ Options }

// maxClusterWarnings is the maximum number of warnings about a spec that become events.
const maxClusterWarnings = 5

// Decide reads the cluster, runs the state machine, and writes the result into the status of the argument sc. The pass
// stores this status later. The input includes what the last pass stored about the cluster's objects (whether they
// exist and match the spec). Later in the same pass, when the objects have been updated, AuxiliaryObjects.Decide runs
// the state machine again with the new state of the objects. The status of a cluster that is being deleted does not
// change.
func (c Clusters) Decide(sc *sparkv1.SparkCluster, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	memory, hold := status.Memory(sc, seen), status.Hold(sc, seen.Quota != nil)
	if hold.Frozen {
		return heldBeforeItsStart(sc, hold, now)
	}

	c.Defaults = launch.Admitted(c.Defaults, seen)

	want, made, _ := c.want(sc, seen)

	plan := cluster.Step(want, memory, seen, status.KnownObjects(sc), now)
	if want.Deleting {
		return asPlan(plan)
	}

	if sc.Status.Operator == nil && plan.Next.Phase == lifecycle.New {
		switch {
		case hold.Cause != nil:
			held := heldBeforeItsStart(sc, hold, now)
			held.Actions, held.RequeueAfter = plan.Actions, plan.RequeueAfter
			return held
		case !memory.Adopted && plan.Next.WaitsInQueue(seen):
			return queuedBeforeItsStart(sc, plan, now)
		}
	}

	var taken []lifecycle.Notice
	if sc.Status.Operator == nil && memory.Adopted {
		taken = append(taken, status.TakenOver(sc))
	}

	notices := warningNotices(sc, made)

	if outlived := faultWhileRunning(want, plan.Next); outlived != nil && !status.StalledReported(sc, *outlived) {
		what := "the edited spec is invalid"
		if sc.Status.ObservedGeneration == sc.Generation {
			what = "its spec, which was not edited, is invalid now" // because the rules of the platform changed
		}

		notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: status.EventClusterInvalid,
			Message: "the cluster continues; " + what + ": " + outlived.Message}})
	}

	if apache.TellsHold(want.Hold, plan.Next.Phase) {
		notices = append(notices, hold.Notices()...)
	}

	defaults := c.settings(sc)
	entered := status.Encode(sc, status.Decision{Want: want, Seen: seen, Objects: status.KnownObjects(sc), Plan: plan, At: now, Trim: c.Trim})
	ignored := dialect.EncodeQueueIgnored(&sc.Status.Conditions, plan.Next.Phase == lifecycle.Running, seen.Quota, sc.Generation, now)
	plan.Notices = slices.Concat(taken, entered, notices, plan.Notices, ignored)

	if plan.Next.Generation == sc.Generation {
		sc.Status.Operator.Defaults = defaults.RememberAll()
	}
	return asPlan(plan)
}

// heldBeforeItsStart returns the decision about a cluster that gets no state, because tools take a state as a sign that
// the cluster was started.
func heldBeforeItsStart(sc *sparkv1.SparkCluster, hold apache.Hold, now time.Time) lifecycle.Plan {
	status.SetCondition(sc, dialect.ConditionReady, metav1.ConditionFalse, *hold.Cause, now)
	return lifecycle.Plan{Notices: hold.Notices()}
}

// queuedBeforeItsStart is like heldBeforeItsStart, for a cluster that waits in a queue.
func queuedBeforeItsStart(sc *sparkv1.SparkCluster, plan cluster.Plan, now time.Time) lifecycle.Plan {
	if why := plan.Next.Cause; why.Reason != "" {
		status.SetCondition(sc, dialect.ConditionReady, metav1.ConditionFalse, why, now)
	}
	return asPlan(plan)
}

// warningNotices returns notices of the warnings about a spec, once for each edit.
func warningNotices(sc *sparkv1.SparkCluster, made standalone.Objects) (notices []lifecycle.Notice) {
	if sc.Status.Operator != nil && sc.Status.ObservedGeneration == sc.Generation {
		return nil
	}

	warnings := clusterWarnings(sc, made)
	for _, text := range warnings[:min(len(warnings), maxClusterWarnings)] {
		notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: status.EventClusterWarning, Message: text}})
	}
	return notices
}

// asPlan converts a plan into the form that the controller carries out. Its actions concern quota only, because all
// objects of a cluster are auxiliary objects.
func asPlan(plan cluster.Plan) lifecycle.Plan {
	m := plan.Next
	return lifecycle.Plan{Actions: plan.Actions, Transitions: plan.Transitions, Notices: plan.Notices, RequeueAfter: plan.RequeueAfter,
		Next: lifecycle.Memory{Phase: m.Phase, Since: m.Since, Attempt: m.Attempt, Cause: m.Cause}}
}

// want returns the desired state of the cluster and the rendered objects. It returns the objects in two forms: as a
// struct with a field for each object (made), and as a list (all). If the spec is invalid, both are empty.
func (c Clusters) want(sc *sparkv1.SparkCluster, seen lifecycle.Observed) (want cluster.Cluster, made standalone.Objects, all []standalone.Object) {
	hold := status.Hold(sc, seen.Quota != nil)

	want = cluster.Cluster{Hold: hold.Cause, Suspend: hold.Suspends, Deleting: sc.DeletionTimestamp != nil, Generation: sc.Generation, RestartRequest: lifecycle.RestartRequest(sc.Annotations), Start: c.MasterStart}
	if want.Deleting {
		return want, made, nil
	}

	if want.Invalid = dialect.Invalid(dialect.OutOfBounds(sc.OutOfBounds)); want.Invalid != nil {
		return want, made, nil
	}

	made, err := c.objects(sc)
	if err == nil {
		all, err = made.All()
	}

	if err != nil {
		want.Invalid = dialect.Invalid(faultsOf(sc, err))
		return want, standalone.Objects{}, nil
	}

	if want.Invalid = c.refused(sc, made, seen); want.Invalid != nil {
		return want, standalone.Objects{}, nil
	}

	want.Workers = *made.Workers.Spec.Replicas
	if made.Autoscaler != nil {
		want.Scales, want.Workers = true, *made.Autoscaler.Spec.MinReplicas
	}

	want.Made = map[lifecycle.Role]string{
		lifecycle.Master: made.Master.Spec.Template.Annotations[lifecycle.SpecHashAnnotation],
		lifecycle.Worker: made.Workers.Spec.Template.Annotations[lifecycle.SpecHashAnnotation],
	}
	return want, made, all
}

// refused returns why no cluster can be created from valid objects; nil if it can. The reason is a rule of the
// platform, or the queue of the cluster.
func (c Clusters) refused(sc *sparkv1.SparkCluster, made standalone.Objects, seen lifecycle.Observed) *lifecycle.Cause {
	queued := seen.Quota != nil
	if queued && made.Autoscaler != nil {
		return dialect.Invalid([]*dialect.FieldError{{Field: clusterFields["MaxWorkers"], Message: "a cluster in a queue cannot change its number of workers; " +
			"set it to minWorkers, or remove the label " + dialect.QueueLabel}})
	}

	if queued {
		// This is no invalid spec, because only an edit helps, and not another configuration.
		if wrong := c.conflict(sc); wrong != nil {
			return &lifecycle.Cause{Reason: lifecycle.ReasonPlacement, Message: wrong.Error()}
		}
	}
	return dialect.Invalid(c.ruleFaults(sc, made))
}

// faultsOf returns the faults of a cluster that could not be rendered: those that validateCluster finds. If it finds
// none, faultsOf returns err, the error of the rendering.
func faultsOf(sc *sparkv1.SparkCluster, err error) []*dialect.FieldError {
	if faults := validateCluster(sc); len(faults) > 0 {
		return faults
	}
	return dialect.AsFaults(err)
}

// AuxiliaryObjects returns the objects that a cluster should have according to the status that Decide wrote. In phases
// in which the cluster's objects must exist (Memory.Wants), these are all objects of the spec. In other phases the set
// is empty, so the operator deletes all objects, except the Services of a suspended cluster, whose addresses stay. If
// an edited spec is invalid, the operator does not change the objects of a running cluster. If the cluster is held, it
// changes nothing either. While the cluster or its edit waits for an answer of the queue, it changes nothing as well.
//
// Inherited StatefulSets are kept, because their selectors are equal to those of the wanted StatefulSets. Their pods
// run unchanged until the cluster is edited. If a StatefulSet cannot be updated to match an edit, another StatefulSet
// with the same name replaces it and takes over its pods.
func (c Clusters) AuxiliaryObjects(sc *sparkv1.SparkCluster, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil || status.Hold(sc, false).Frozen {
		return dialect.AuxiliaryObjects{Unsettled: true}
	}

	if m := status.Memory(sc, seen); !m.Wants() {
		return dialect.AuxiliaryObjects{KeepServices: m.Suspended(), Inherited: inheritedOf(sc, m), Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
			status.SetRelease(sc, seen, live, now)
			return nil
		}}
	}

	c.Defaults = launch.Admitted(c.Defaults, seen)
	if m := status.Memory(sc, seen); m.WaitsInQueue(seen) || m.EditWaits(seen, sc.Generation) {
		return dialect.AuxiliaryObjects{Unsettled: true}
	}

	want, _, made := c.want(sc, seen)
	if want.Invalid != nil || want.Hold != nil {
		return dialect.AuxiliaryObjects{Unsettled: true} // Decide reports the fault or the hold
	}

	var all []submit.Object
	for _, object := range made {
		dialect.MarkContent(object)
		all = append(all, object)
	}
	return dialect.AuxiliaryObjects{Objects: all, Decide: func(live []lifecycle.AuxiliaryObject, now time.Time) lifecycle.Plan {
		objects := stateOfObjects(all, live)
		plan := cluster.Step(want, status.Memory(sc, seen), seen, objects, now)
		status.SetObjects(sc, objects, now)
		plan.Notices = append(status.Encode(sc, status.Decision{Want: want, Seen: seen, Objects: objects, Plan: plan, At: now, Trim: c.Trim}), plan.Notices...)
		return asPlan(plan)
	}}
}

// inheritedOf returns the objects of a suspended cluster that another operator may have created. Its pods would come
// back without this, because the operator's caches lack these objects.
func inheritedOf(sc *sparkv1.SparkCluster, m cluster.Memory) []submit.Object {
	if !m.Adopted || !m.Suspended() {
		return nil
	}

	var all []submit.Object
	for _, object := range standalone.Scaled(sc.Namespace, sc.Name) {
		all = append(all, object)
	}
	return all
}

// stateOfObjects returns the combined state of all objects: a rejection if the API server rejected at least one object,
// and otherwise whether all objects match the spec.
func stateOfObjects(all []submit.Object, live []lifecycle.AuxiliaryObject) cluster.Objects {
	if causes := dialect.ObjectFailures(live); len(causes) > 0 {
		cause := causes[0]
		for _, other := range causes[1:] {
			cause.Message += "; " + other.Message
		}

		cause = cause.Bounded()
		return cluster.Objects{Refused: &cause}
	}
	return cluster.Objects{Stand: !slices.ContainsFunc(all, func(object submit.Object) bool {
		made := dialect.FindObject(live, object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
		return made == nil || !made.Current
	})}
}

// faultWhileRunning returns the fault of the spec if the cluster runs and the spec is invalid, and nil otherwise. Such
// a cluster continues with its previous spec.
func faultWhileRunning(want cluster.Cluster, m cluster.Memory) *lifecycle.Cause {
	if m.Phase == lifecycle.Running {
		return want.Invalid
	}
	return nil
}

// Events returns the events of a plan, oldest first. The plan consists of the results of both decisions of a pass:
// Decide and AuxiliaryObjects.Decide.
func Events(plan lifecycle.Plan) []dialect.Event { return status.Events(plan) }

// FailureReason returns the reason of an event about a failed pass over a cluster, or about a failed write of its
// status.
func FailureReason(sc *sparkv1.SparkCluster, ofStatus bool) string {
	return apache.FailureReason(status.Memory(sc, lifecycle.Observed{}).Phase, status.Hold(sc, false), sc.DeletionTimestamp != nil, ofStatus)
}
