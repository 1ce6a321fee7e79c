package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/runs"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// observe finds the dependents in the cache and reads them into facts.
func (r *Reconciler) observe(ctx context.Context, p *pass) (err error) {
	if r.kind.Runs != nil {
		p.children.Runs, p.seen.Runs, err = runs.Observe(ctx, r.dependents.Client, r.kind.Runs, p.stored)
		return err
	}
	pods, others, err := r.dependents.Labelled(ctx, p.stored)
	if err != nil {
		return err
	}
	theirs, err := r.dependents.Inherited(ctx, r.kind.Inherited, p.stored)
	if err != nil {
		return err
	}
	all := r.observeEnds(p, append(pods, theirs...))
	p.children = dependents.Sort(all, p.stored.GetUID())
	p.children.Others = others
	if r.kind.Beside.Sets {
		if err := r.dependents.AddMembers(ctx, &p.children, p.stored, all); err != nil {
			return err
		}
	}
	p.seen = p.children.Facts()
	r.inheritGroup(ctx, p) // which reads the facts anew: what no dependent tells comes after it
	p.seen.Gone = r.observeGone(p)
	p.seen.ShortSince = r.paces.ShortSince(identity.Key(p.stored))
	p.seen.Lacks, _ = r.lacks.Get(identity.Key(p.stored))
	r.explain(ctx, p)
	return nil
}

// lookTimeout bounds a read that the rest of a pass does not need.
const lookTimeout = 3 * time.Second

// inheritGroup finds what another operator let a batch scheduler know the attempt by, when its end has come: nothing else would delete it before the
// custom resource goes, and until then it may keep room that nobody uses. Where it cannot be read the pass goes on without it.
func (r *Reconciler) inheritGroup(ctx context.Context, p *pass) {
	if r.kind.Inherited.GroupLeft == nil || p.stored.GetDeletionTimestamp() != nil {
		return
	}
	group := r.kind.Inherited.GroupLeft(p.stored, p.seen)
	if group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	existing, err := r.dependents.GroupLeft(ctx, group, p.stored)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("it cannot be found out whether another operator left a pod group", "cause", err.Error())
		p.check = lifecycle.Soonest(p.check, maxLookAgain)
	case existing != nil:
		p.children.Others = append(p.children.Others, *existing)
		p.seen = p.children.Facts()
	}
}
