package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// surroundTimeout bounds what a pass spends on surroundings: an admission webhook that does not answer must not keep the status from being written. Where the
	// rest of the pass took longer, it is the API server that is slow (besideFor), and they may take up to maxSurroundTimeout.
	surroundTimeout    = 5 * time.Second
	maxSurroundTimeout = 10 * time.Second
	// A surrounding that is refused is asked for again after refusedInterval, and one that met weather after lookAgain; each time it takes twice as
	// long, up to maxSurroundInterval.
	refusedInterval     = 15 * time.Second
	maxSurroundInterval = 5 * time.Minute
	// weatherTries is how often weather may hinder a surrounding before anybody is told.
	weatherTries = 3
	// ownTrust is how long what was just written is believed although the cache does not show it.
	ownTrust = 5 * time.Second
	// gone is the content of what was deleted.
	gone = "-"
	// reasonUnavailable is the cause's reason where the API server gave no answer that is for good.
	reasonUnavailable = "Unavailable"
)

// hear tells what became of the surroundings, and keeps what is to be told of that.
func (p *pass) hear(wanted Surroundings, is []lifecycle.Surrounding) {
	if wanted.Decides == nil {
		p.told = wanted.Told(is, p.now)
		return
	}
	more := wanted.Decides(is, p.now)
	p.plan.Trail, p.plan.Tell = append(p.plan.Trail, more.Trail...), append(p.plan.Tell, more.Tell...)
	p.plan.Next, p.check = more.Next, soonest(p.check, more.Check)
}

// surround brings what stands beside the driver to what the kind wants: it creates, updates in place and deletes. What somebody else made is never
// touched. No failure ends the pass: it becomes part of the status that the pass writes anyway, and is tried again after a while.
func (r *Reconciler) surround(ctx context.Context, p *pass) {
	if r.kind.Beside.Wanted == nil {
		return
	}
	wanted := r.kind.Beside.Wanted(p.object, p.seen)
	if wanted.Unsettled {
		return
	}
	r.sweepSecrets(ctx, p, wanted.Objects)
	key, uid := identity.Key(p.stored), p.stored.GetUID()
	remove := p.unwanted(wanted.Objects)
	if wanted.Stays {
		remove = slices.DeleteFunc(remove, func(object client.Object) bool { return dependents.KindOf(object) == "Service" })
	}
	last := r.around.last(key, uid)
	remove = slices.DeleteFunc(remove, func(object client.Object) bool { return last.made[nameOf(object)].holds(gone, p.now) })
	if len(wanted.Objects) == 0 && len(remove) == 0 {
		if wanted.Stays || len(last.made) == 0 || len(p.unwanted(nil)) == 0 {
			r.around.nothing(key)
		}
		p.hear(wanted, nil)
		return
	}
	asked := digestOf(wanted.Objects, remove)
	if last.asked != asked || p.lost(last.results) {
		last.failures, last.until, last.results = 0, time.Time{}, nil
	}
	if p.now.Before(last.until) {
		p.check = soonest(p.check, last.until.Sub(p.now))
		p.hear(wanted, last.results)
		return
	}
	if len(wanted.Objects) == 0 {
		p.hear(wanted, last.results)
		p.remove = remove
		return
	}
	next := r.bring(ctx, p, p.besideFor(ctx), wanted, remove, last)
	next.asked = asked
	if !next.until.IsZero() {
		p.check = soonest(p.check, next.until.Sub(p.now))
	}
	r.around.note(key, next)
	p.hear(wanted, next.results)
}

// clear deletes what stands beside a driver that does not go on. That it is over is stored by then, and nobody waits
// for this.
func (r *Reconciler) clear(ctx context.Context, p *pass) {
	if len(p.remove) == 0 {
		return
	}
	key, asked := identity.Key(p.stored), digestOf(nil, p.remove)
	last := r.around.last(key, p.stored.GetUID())
	if last.asked != asked {
		last.failures = 0
	}
	next := r.bring(ctx, p, surroundTimeout, Surroundings{}, p.remove, last)
	next.asked = asked
	if next.failures > 0 {
		p.check = soonest(p.check, next.until.Sub(p.now))
	} else {
		for _, object := range p.remove {
			next.made[nameOf(object)] = written{gone, p.now} // until the cache shows it
		}
		if last.failures > 0 {
			p.check = soonest(p.check, lookAgain) // what the status says against it holds no longer, and that it is gone is no news (went)
		}
	}
	r.around.note(key, next)
}

// bring carries out what is missing, side by side, and says what came of it. What is to go goes after that, since it may have to stay for it (kept).
func (r *Reconciler) bring(ctx context.Context, p *pass, within time.Duration, wanted Surroundings, remove []client.Object, last aroundState) aroundState {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p.scaled, p.leftMark = autoscaled(wanted.Objects), markOf(p.stored.GetGeneration())
	results := make([]lifecycle.Surrounding, len(wanted.Objects)+len(remove))
	errs := make([]error, len(results))
	dependents.SideBySide(len(wanted.Objects), func(i int) {
		object := wanted.Objects[i]
		results[i], errs[i] = r.ensure(ctx, p, object, slices.Contains(wanted.Read, object.GetName()), last.made[nameOf(object)])
	})
	stay, goes := r.kept(remove, results[:len(wanted.Objects)])
	for i, object := range slices.Concat(goes, stay) {
		at := len(wanted.Objects) + i
		results[at] = lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName(), Old: i >= len(goes)}
	}
	dependents.SideBySide(len(goes), func(i int) { errs[len(wanted.Objects)+i] = r.dependents().DeleteOne(ctx, goes[i]) })
	next := aroundState{uid: p.stored.GetUID(), made: map[string]written{}}
	for i, object := range wanted.Objects {
		content := object.GetLabels()[lifecycle.ContentLabel]
		if cached := p.cached(object); !results[i].Stands || dependents.IsSecret(object) || cached == content || p.leftAsItIs(object, cached) {
			continue
		}
		was, name := last.made[nameOf(object)], nameOf(object)
		if !was.holds(content, p.now) {
			was = written{content, p.now}
		}
		if next.made[name] = was; was.at.Before(p.now) || !dependents.AlwaysWatched(object) { // else its coming brings the next look
			p.check = soonest(p.check, ownTrust-p.now.Sub(was.at)) // somebody may have deleted it since
		}
	}
	if errors.Join(errs...) == nil {
		next.results = results[:len(wanted.Objects)] // what was to go is gone
		return next
	}
	next.failures = last.failures + 1
	next.until = p.now.Add(r.judge(ctx, results, errs, next.failures))
	next.results = slices.DeleteFunc(results, func(s lifecycle.Surrounding) bool { return s == lifecycle.Surrounding{Kind: s.Kind, Name: s.Name} })
	return next
}

// besideFor is how long what stands beside the driver may take in this pass.
func (p *pass) besideFor(ctx context.Context) time.Duration {
	var spent time.Duration
	if !p.spent.began.IsZero() {
		spent = time.Since(p.spent.began)
	}
	left := passTimeout
	if end, bounded := ctx.Deadline(); bounded {
		left = time.Until(end)
	}
	return besideFor(spent, left)
}

// besideFor is as long as the rest of the pass took, so that a Service whose creation is as slow as that of all else is in the same status; within bounds, and no
// longer than half of the time that is left, as the status is yet to be written.
func besideFor(spent, left time.Duration) time.Duration {
	return min(max(surroundTimeout, spent), maxSurroundTimeout, left/2)
}

// judge puts the errors into the results and returns when to try again.
func (r *Reconciler) judge(ctx context.Context, results []lifecycle.Surrounding, errs []error, failures int) time.Duration {
	first := refusedInterval
	for i, err := range errs {
		if err == nil {
			continue
		}
		cause, _ := apianswer.Rejection(err)
		known, found := errors.AsType[*causeError](err)
		switch {
		case found:
			cause = known.cause
		case apianswer.NamespaceTerminating(err):
			cause = lifecycle.Cause{} // everything goes by itself
		case cause.Reason == "":
			first = lookAgain
			if failures >= weatherTries {
				cause = lifecycle.Cause{Reason: reasonUnavailable, Message: err.Error()}
			}
		}
		results[i].Cause = cause
		if failures == 1 || cause.Reason == reasonUnavailable {
			log.FromContext(ctx).Info("what stands beside the driver is not as wanted", "kind", results[i].Kind, "name", results[i].Name, "cause", err.Error())
		}
	}
	return min(first<<min(failures-1, 16), maxSurroundInterval)
}

// causeError is an answer that is for good and that no status code tells: somebody else has the name, or the kind is not served.
type causeError struct{ cause lifecycle.Cause }

// Error says why.
func (e *causeError) Error() string { return e.cause.Message }

// ensure makes one object what it should be, by as few requests as the cache allows: none where it shows the object as it is wanted.
func (r *Reconciler) ensure(ctx context.Context, p *pass, object client.Object, read bool, made written) (lifecycle.Surrounding, error) {
	is := lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName()}
	content := object.GetLabels()[lifecycle.ContentLabel]
	if err := standsBeside(object, p.stored); err != nil {
		return is, err
	}
	if dependents.IsSecret(object) {
		return r.ensureSecret(ctx, p, object)
	}
	cached := p.cached(object)
	asItIs := p.leftAsItIs(object, cached)
	edited := cached == content && r.edited(p, object)
	if asItIs || !edited && (cached == content || made.holds(content, p.now)) {
		if is.Stands = true; !read {
			return is, nil
		}
	}
	existed := cached != "" || is.Stands
	if existed {
		if is, err := r.corrected(ctx, p, object, edited); !apierrors.IsNotFound(err) {
			return is, err
		}
		is.Stands = false // it was deleted just now, by the end of the attempt before as well, and the cache does not know
	}
	first, err := r.createFirst(ctx, p, object, existed)
	if err == nil {
		is.Stands, is.Address = true, clusterAddress(first)
		first.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // an answer that is read into a type loses it
		r.wrote(p, first, time.Time{})
		return is, nil
	}
	if cause, missing := apianswer.NotServed(object, err); missing {
		return is, &causeError{cause}
	}
	if !apierrors.IsAlreadyExists(err) {
		return is, fmt.Errorf("create %s %s: %w", is.Kind, is.Name, err)
	}
	return r.corrected(ctx, p, object, edited)
}

// corrected is what is known of an object that exists once it was corrected.
func (r *Reconciler) corrected(ctx context.Context, p *pass, object client.Object, edited bool) (lifecycle.Surrounding, error) {
	is := lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName()}
	existing, old, err := r.correct(ctx, p, object, edited)
	is.Stands, is.Old = err == nil, old
	if err == nil {
		is.Address = clusterAddress(existing)
	}
	return is, err
}

// correct looks at an object that exists, and applies what is wanted where it differs or was edited. With an error it tells whether the object, which could
// not be brought to what is wanted, does what it did before.
func (r *Reconciler) correct(ctx context.Context, p *pass, object client.Object, edited bool) (is *unstructured.Unstructured, old bool, err error) {
	existing, err := r.readTree(ctx, object)
	if err != nil {
		there := r.vital(object) && p.inCache(object) != nil && !apierrors.IsNotFound(err)
		return nil, there, err // deleted just now, or weather, in which what was there is taken to be
	}
	if err := r.notOurs(p, object, existing); err != nil {
		return nil, false, err
	}
	tree, err := p.treeOver(object, existing)
	if err != nil {
		return nil, false, err
	}
	switch {
	case leftSet(existing):
		marked, err := r.markSet(ctx, p, object, existing, tree)
		return marked, false, err
	case p.leftAsItIs(object, existing.GetLabels()[lifecycle.ContentLabel]):
		return existing, false, nil
	case isLeft(existing): // what that operator's apply said, and is wanted no more, an apply of ours could not take back
		return nil, false, r.replaceSet(ctx, existing, tree)
	}
	old = r.vital(object) && leads(tree, existing.Object)
	differs := existing.GetLabels()[lifecycle.ContentLabel] != object.GetLabels()[lifecycle.ContentLabel]
	if edited && !differs {
		if differs, err = r.putsBack(p, tree, existing); err != nil {
			return nil, old, err
		}
	}
	if !differs {
		return existing, false, nil
	}
	updated, err := r.update(ctx, existing, tree)
	if err != nil {
		return nil, old, err
	}
	r.wrote(p, updated, p.now)
	return updated, false, nil
}

// treeOver is what is applied of an object over what exists.
func (p *pass) treeOver(object client.Object, existing *unstructured.Unstructured) (map[string]any, error) {
	tree, err := appliedTree(object)
	if err != nil {
		return nil, err
	}
	return tree, p.keepScale(tree, existing)
}

// notOurs says why what has the name of an object that is wanted is none to be changed; nil where it may be.
func (r *Reconciler) notOurs(p *pass, object client.Object, existing *unstructured.Unstructured) error {
	switch {
	case identity.OwnedBy(existing, p.stored.GetUID()) && existing.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s %s is being deleted", dependents.KindOf(object), object.GetName())
	case identity.OwnedBy(existing, p.stored.GetUID()):
		return nil
	case p.drivenElsewhere(existing):
		return &causeError{lifecycle.Cause{Reason: lifecycle.ReasonLeft, Message: "another operator made it"}}
	}
	if why := r.dependents().WhyFreed(existing, dependents.KindOf(object), p.stored); why != "" {
		return &apianswer.Wait{Message: why} // it goes by itself: tried again soon, told when it lasts
	}
	return &causeError{dependents.NameTaken(existing, dependents.KindOf(object))}
}

// drivenElsewhere reports whether an object belongs to a driver that was taken over from another operator, which made the two.
func (p *pass) drivenElsewhere(existing client.Object) bool {
	return slices.ContainsFunc(p.seen.Drivers, func(d lifecycle.Driver) bool {
		return d.AttemptID != "" && identity.OwnedBy(existing, types.UID(d.UID))
	})
}

// update applies an object over the one that exists, which was found to be the owner's: it keeps what others added, takes away what we no longer
// want, and fails where the object was replaced or changed since it was read. What a create wrote belongs to another kind of field owner than what
// is applied, and has to become the latter's first: else a label that is not wanted any more would stay.
func (r *Reconciler) update(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) (*unstructured.Unstructured, error) {
	if err := r.clearPorts(ctx, existing, tree); err != nil {
		return nil, err
	}
	upgrade, err := csaupgrade.UpgradeManagedFieldsPatch(existing, sets.New(identity.FieldOwner), identity.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("read who owns the fields of %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	if len(upgrade) > 0 {
		if err := r.client.Patch(ctx, existing, client.RawPatch(types.JSONPatchType, upgrade)); err != nil {
			return nil, fmt.Errorf("take over the fields of %s %s: %w", existing.GetKind(), existing.GetName(), err)
		}
	}
	applied := &unstructured.Unstructured{Object: tree}
	applied.SetGroupVersionKind(existing.GroupVersionKind())
	applied.SetUID(existing.GetUID())
	applied.SetResourceVersion(existing.GetResourceVersion())
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership)
	if apianswer.UndeclaredField(err) {
		if known := declared(r.client.Scheme(), applied.Object); known != nil {
			applied.Object = known
			err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership)
		}
	}
	switch {
	case isSet(existing) && apianswer.ImmutableSpec(err):
		return nil, r.replaceSet(ctx, existing, tree)
	case err != nil:
		return nil, fmt.Errorf("update %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	return applied, nil
}

// readTree reads an object live, with everything that it has.
func (r *Reconciler) readTree(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(object, r.client.Scheme())
	if err != nil {
		return nil, err
	}
	tree := &unstructured.Unstructured{}
	tree.SetGroupVersionKind(gvk)
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(object), tree); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return tree, nil
}
