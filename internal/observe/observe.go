// Package observe finds the dependents of a custom resource in the caches and reads them into facts. Each pass begins
// with it.
package observe

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind"
	"github.com/sparkoperator/spark-operator/internal/runs"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// lookAgain is the time until the next pass if this one counts executors that are gone as if they existed.
	lookAgain = time.Second
	// groupLookAgain is the time until a failed read of a pod group is repeated. groupTimeout bounds the read.
	groupLookAgain = 15 * time.Second
	groupTimeout   = 3 * time.Second
)

// Observer observes the custom resources of one kind.
type Observer struct {
	Kind       kind.Kind
	Dependents dependents.Client
	Explains   *explain.Explainer // finds out what no status contains
	Ended      *feed.Ended        // executors that ended and are not counted yet
}

// Sight is the result of an observation.
type Sight struct {
	dependents.View
	Ends  []feed.End    // ended executors that this pass counts, whether or not their pods still exist
	Check time.Duration // time until the next pass; 0 = no request
}

// Look finds the dependents of a stored custom resource and reads their facts.
func (o Observer) Look(ctx context.Context, owner client.Object, now time.Time) (Sight, error) {
	s := Sight{View: dependents.View{Owner: owner, Now: now}}
	if o.Kind.Runs != nil {
		var err error
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
	s.Ends = o.Ended.Of(identity.Key(owner))
	if failed := unseen(all, s.Ends); len(failed) > 0 {
		all, s.Check = append(all, failed...), lookAgain
	}
	s.Set = dependents.Sort(all, owner.GetUID())
	s.Set.Others = others
	if o.Kind.Beside.Sets {
		if err := o.Dependents.AddMembers(ctx, &s.Set, owner, all); err != nil {
			return s, err
		}
	}
	s.Seen = s.Set.Facts()
	o.addGroup(ctx, &s) // it reads all facts again, so facts from elsewhere come after it
	s.Seen.Gone = o.gone(s)
	o.explain(ctx, &s)
	return s, nil
}

// addGroup finds the pod group that another operator created for an attempt that ends. Nothing else would delete the
// group before the custom resource is deleted, and until then it may reserve unused capacity. The pass continues if the
// read fails.
func (o Observer) addGroup(ctx context.Context, s *Sight) {
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
		log.FromContext(ctx).V(1).Info("cannot read the pod group of another operator", "cause", err.Error())
		s.Check = lifecycle.Soonest(s.Check, groupLookAgain)
	case existing != nil:
		s.Set.Others = append(s.Set.Others, *existing)
		s.Seen = s.Set.Facts()
	}
}

// explain adds to the facts what no status contains: why pods wait, and which right a failed driver lacked.
func (o Observer) explain(ctx context.Context, s *Sight) {
	key := identity.Key(s.Owner)
	for _, pod := range explain.Pods(&s.Seen, s.Set.Executors, s.Set.Members) {
		answer := o.Explains.Pod(ctx, key, pod, s.Now)
		*pod.Why = answer.Cause
		s.Check = lifecycle.Soonest(s.Check, answer.Again)
		s.Seen.Unasked = s.Seen.Unasked || answer.Unasked
	}
	for i := range s.Seen.Drivers {
		driver := &s.Seen.Drivers[i]
		driver.Why = o.Explains.FailedDriver(ctx, key, driver, s.Set.AccountOf(driver.UID), s.Now)
	}
}
