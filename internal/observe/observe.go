// Package observe finds the dependents of a custom resource in the caches and reads them into facts: what a pass begins with.
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
	// lookAgain is when a pass is made again that counted what is gone as if it were there.
	lookAgain = time.Second
	// groupLookAgain is when a read is tried again that the rest of a pass does not need, and groupTimeout bounds it.
	groupLookAgain = 15 * time.Second
	groupTimeout   = 3 * time.Second
)

// Observer looks at custom resources of one kind.
type Observer struct {
	Kind       kind.Kind
	Dependents dependents.Client
	Explains   *explain.Explainer // says what no status does
	Ended      *feed.Ended        // executors that ended and are yet to be counted
}

// Sight is what was seen.
type Sight struct {
	dependents.View
	Ends  []feed.End    // executors that this pass counts, whether or not they are still there
	Check time.Duration // when to look again; 0 = no wish
}

// Look finds the dependents of a custom resource as it is stored, and what they tell.
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
	o.addGroup(ctx, &s) // which reads the facts anew: what no dependent tells comes after it
	s.Seen.Gone = o.gone(s)
	o.explain(ctx, &s)
	return s, nil
}

// addGroup finds what another operator let a batch scheduler know the attempt by, when its end has come: nothing else would delete it before the
// custom resource goes, and until then it may keep room that nobody uses. Where it cannot be read the pass goes on without it.
func (o Observer) addGroup(ctx context.Context, s *Sight) {
	if o.Kind.Inherited.GroupLeft == nil || s.Owner.GetDeletionTimestamp() != nil {
		return
	}
	group := o.Kind.Inherited.GroupLeft(s.Owner, s.Seen)
	if group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	existing, err := o.Dependents.GroupLeft(ctx, group, s.Owner)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("it cannot be found out whether another operator left a pod group", "cause", err.Error())
		s.Check = lifecycle.Soonest(s.Check, groupLookAgain)
	case existing != nil:
		s.Set.Others = append(s.Set.Others, *existing)
		s.Seen = s.Set.Facts()
	}
}

// explain has the facts say what nobody says by a status: what pods wait for, and that a driver which failed lacked a right.
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
