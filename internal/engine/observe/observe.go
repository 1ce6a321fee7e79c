// Package observe finds the dependents of a custom resource in the caches and reads them into facts. Each pass begins
// with such an observation.
package observe

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
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
	Kind       kind.Kind
	Dependents dependents.Client
	Explainer  *explain.Explainer // finds out what no status contains
	Ended      *handlers.Ended    // executors that ended and are not counted yet
	// NamespaceLabels returns the labels of a namespace, or nil if no decision depends on them. If the function is nil,
	// no decision does.
	NamespaceLabels func(ctx context.Context, namespace string) (map[string]string, error)
}

// Observation contains the dependents of one custom resource, and the facts about them, at the start of a pass.
type Observation struct {
	dependents.View
	Ended        []handlers.End // ended executors that this pass counts, whether or not their pods still exist
	RequeueAfter time.Duration  // time until the next pass; 0 = no request
}

// Observe finds the dependents of a stored custom resource and reads their facts.
func (o Observer) Observe(ctx context.Context, owner client.Object, now time.Time) (Observation, error) {
	s := Observation{View: dependents.View{Owner: owner, Now: now}}

	labels, err := o.labels(ctx, owner.GetNamespace())
	if err != nil {
		return s, err
	}

	if o.Kind.Runs != nil {
		s.Seen.NamespaceLabels = labels
		s.Set.Runs, s.Seen.Runs, err = runs.Observe(ctx, o.Dependents, o.Kind.Runs, owner)
		return s, err
	}

	pods, others, err := o.Dependents.Labelled(ctx, owner)
	if err != nil {
		return s, err
	}

	theirs, err := o.Dependents.Inherited(ctx, o.Kind.Inherited, owner)
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
	if o.Kind.Auxiliary.Sets {
		if err := o.Dependents.AddMembers(ctx, &s.Set, owner, all); err != nil {
			return s, err
		}
	}

	s.Seen = s.Set.Facts()
	o.addGroup(ctx, &s) // it reads all facts again, so facts from elsewhere come after it
	s.Seen.NamespaceLabels = labels
	s.Seen.UncountedExecutors = o.uncountedExecutors(s)
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
	if o.Kind.Inherited.PodGroup == nil || s.Owner.GetDeletionTimestamp() != nil {
		return
	}

	group := o.Kind.Inherited.PodGroup(s.Owner, s.Seen)
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
