// Package observe finds the dependents of a custom resource in the caches and reads them into facts. Each pass begins
// with such an observation.
package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// requeueDelay is the time until the next pass if this pass counts deleted executors as if they existed.
	requeueDelay = time.Second
	// groupRequeueDelay is the time until a failed read of a pod group is repeated, and groupTimeout bounds the read.
	groupRequeueDelay = 15 * time.Second
	groupTimeout      = 3 * time.Second
)

// Observer finds the dependents of custom resources of one kind, and reads the facts for decisions from them.
type Observer struct {
	Kind       contract.Kind
	Dependents dependents.Client
	Explainer  *explain.Explainer // finds out what no status contains
	Ended      *churn.Ended       // executors that ended and are not counted yet
	Queue      Queue              // nil if the kind is in no queue
	// NamespaceLabels returns the labels of a namespace, or nil if no decision depends on them. If the function is nil,
	// no decision does.
	NamespaceLabels func(ctx context.Context, namespace string) (map[string]string, error)
	// Logs returns what is known about the logs of a custom resource. The function is nil if logs are not kept.
	Logs func(uid types.UID) *lifecycle.Logs
}

// Queue is a queue that grants quota to custom resources.
type Queue interface {
	// Observe returns what the queue reports about a custom resource, or nil if the custom resource is in no queue. The
	// argument holder is the pod whose end the request has to await, or nil if there is none. The argument begun is true
	// if the custom resource has a status and has not ended.
	Observe(ctx context.Context, owner client.Object, holder *corev1.Pod, begun bool, now time.Time) *lifecycle.Quota
}

// ExecutorCounter is a kind whose executors are counted although they start and end between two passes.
type ExecutorCounter interface {
	// ExecutorRecord returns the part of a status that holds the counted executors, or nil if the status has none. It is
	// the only record of executors that start and end between two passes.
	ExecutorRecord(object client.Object) *statusv1.OperatorStatus
}

// Accountant is a kind whose status contains what its pods have used.
type Accountant interface {
	// Usage returns the field of a status with what the pods have used, or nil if the status lacks the operator's part.
	Usage(object client.Object) **statusv1.OperatorUsage
}

// GroupHeir is a kind for whose attempts another operator of the same API may have created pod groups.
type GroupHeir interface {
	// InheritedGroup returns the name and our labels of the pod group that another operator created for the object's
	// attempt. The operator needs the name, because it cannot find such a group through its pods. The result is nil if
	// no such group is expected.
	InheritedGroup(object client.Object, seen lifecycle.Observed) *metav1.PartialObjectMetadata
}

// Observation contains the dependents of one custom resource, and the facts about them, at the start of a pass.
type Observation struct {
	dependents.View
	Ended        []churn.End   // ended executors that this pass counts, whether or not their pods still exist
	RequeueAfter time.Duration // time until the next pass; 0 = no request
}

// Observe finds the dependents of a stored custom resource and reads their facts.
func (o Observer) Observe(ctx context.Context, owner client.Object, now time.Time) (Observation, error) {
	s := Observation{View: dependents.View{Owner: owner, Now: now}}

	labels, err := o.labels(ctx, owner.GetNamespace())
	if err != nil {
		return s, err
	}

	if kind, hasRuns := o.Kind.(runs.Kind); hasRuns {
		s.Seen.NamespaceLabels = labels
		s.Set.Runs, s.Seen.Runs, err = runs.Observe(ctx, o.Dependents, kind, owner)
		return s, err
	}

	pods, others, err := o.Dependents.Labelled(ctx, owner)
	if err != nil {
		return s, err
	}

	theirs, err := o.Dependents.Inherited(ctx, o.Kind, owner)
	if err != nil {
		return s, err
	}

	all := append(pods, theirs...)

	s.Ended = o.Ended.Of(identity.Key(owner))
	if failed := o.missingPods(owner, all, s.Ended); len(failed) > 0 {
		all, s.RequeueAfter = append(all, failed...), requeueDelay
	}

	s.Set = dependents.SortPods(all, owner.GetUID())

	s.Set.Others = others
	if o.Kind.Traits().Auxiliary.Sets {
		if err := o.Dependents.AddMembers(ctx, &s.Set, owner, all); err != nil {
			return s, err
		}
	}

	s.Seen = s.Set.Facts()
	o.addGroup(ctx, &s) // it reads all facts again, so facts from elsewhere come after it
	s.Seen.NamespaceLabels = labels

	if o.Logs != nil {
		s.Seen.Logs = o.Logs(owner.GetUID())
	}

	s.Seen.UncountedExecutors = o.uncountedExecutors(s)

	s.Seen.GonePods = o.gonePods(s)
	if o.Queue != nil {
		standing := o.Kind.Standing(owner)
		s.Seen.Quota = o.Queue.Observe(ctx, owner, s.Set.Holder(), standing.State != "" && !standing.Phase.Terminal(), now)
	}

	o.explain(ctx, &s)
	return s, nil
}

func (o Observer) labels(ctx context.Context, namespace string) (map[string]string, error) {
	if o.NamespaceLabels == nil {
		return nil, nil
	}
	return o.NamespaceLabels(ctx, namespace)
}

// addGroup adds to the observation the pod group that another operator created for an attempt that ends, so that the
// pass can delete the group. Otherwise the group would exist until the custom resource is deleted, and it might reserve
// unused capacity. If the read of the group fails, the pass continues, and a later pass reads the group again.
func (o Observer) addGroup(ctx context.Context, s *Observation) {
	heir, inherits := o.Kind.(GroupHeir)
	if !inherits || s.Owner.GetDeletionTimestamp() != nil {
		return
	}

	group := heir.InheritedGroup(s.Owner, s.Seen)
	if group == nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()

	existing, err := o.Dependents.InheritedGroup(ctx, group, s.Owner)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("Could not read the PodGroup that another operator created", "cause", err.Error())

		s.RequeueAfter = lifecycle.Soonest(s.RequeueAfter, groupRequeueDelay)
	case existing != nil:
		s.Set.Others = append(s.Set.Others, *existing)
		s.Seen = s.Set.Facts()
	}
}

// explain adds to the facts two reasons that are not in the status of a pod: why the pod waits, and which RBAC right a
// failed driver lacked. The Explainer derives them from Events and from queries to the API server.
func (o Observer) explain(ctx context.Context, s *Observation) {
	key := identity.Key(s.Owner)
	for _, pod := range explain.Pods(&s.Seen, s.Set.Executors, s.Set.Members) {
		answer := o.Explainer.Pod(ctx, key, pod, s.Now)
		*pod.Why = answer.Cause
		s.RequeueAfter = lifecycle.Soonest(s.RequeueAfter, answer.QueryAfter)
		s.Seen.QuerySkipped = s.Seen.QuerySkipped || answer.Skipped
	}

	for i := range s.Seen.Drivers {
		driver := &s.Seen.Drivers[i]
		driver.Why = o.Explainer.FailedDriver(ctx, key, driver, s.Set.AccountOf(driver.UID), s.Now)
	}
}
