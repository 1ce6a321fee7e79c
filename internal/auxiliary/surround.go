// Package auxiliary brings a set of wanted objects beside an owner to what is wanted: it creates, updates in place and
// deletes them. They are what stands beside a driver for others than Spark (Services, Ingresses, routes), and what a
// standalone cluster is made of (StatefulSets, autoscalers, budgets, Secrets). No failure holds the owner up.
package auxiliary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	"github.com/sparkoperator/spark-operator/internal/kind"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// Timeout bounds what a pass spends on surroundings: an admission webhook that does not answer must not keep the
	// status from being written.
	Timeout = 5 * time.Second
	// MaxTimeout bounds it where the rest of the pass took longer, so that it is the API server that is slow.
	MaxTimeout = 10 * time.Second
	// refusedInterval is after how long a surrounding that is refused is asked for again. One that met weather is after
	// lookAgain. Each time it takes twice as long, up to MaxInterval.
	refusedInterval = 15 * time.Second
	// MaxInterval is the longest time between two tries.
	MaxInterval = 5 * time.Minute
	// weatherTries is how often weather may hinder a surrounding before anybody is told.
	weatherTries = 3
	// OwnTrust is how long what was just written is believed although the cache does not show it.
	OwnTrust = 5 * time.Second
	// lookAgain is the first wait after weather.
	lookAgain = time.Second
	// gone is the content of what was deleted.
	gone = "-"
	// ReasonUnavailable is the cause's reason where the API server gave no answer that is for good.
	ReasonUnavailable = "Unavailable"
)

// Keeper brings what stands beside the drivers of a kind to what is wanted.
type Keeper struct {
	dependents.Client
	Beside kind.Beside
	Memory *Memory
}

// Outcome is what came of it.
type Outcome struct {
	// Told is to be told once the status is stored.
	Told []kind.Event
	// Plan is what goes on from the pass's plan, where the object lives by its surroundings; else nil.
	Plan *lifecycle.Plan
	// Check is when to look again; 0 = no wish.
	Check time.Duration
	// Remove is to be deleted once the status is stored (Clear).
	Remove []client.Object
}

// look is a view that is being acted on.
type look struct {
	dependents.View
	Outcome
	mu       sync.Mutex // guards Check while objects are brought side by side
	scaled   []string   // the StatefulSets among what is wanted whose number of pods an autoscaler decides
	leftMark string     // of StatefulSets that another operator made and that go on as they are (markOf)
}

// Tell has the surroundings write what became of them into the object's status, and returns what follows from it.
func Tell(wanted kind.Surroundings, results []lifecycle.Surrounding, now time.Time) Outcome {
	if wanted.Decides == nil {
		return Outcome{Told: wanted.Told(results, now)}
	}
	plan := wanted.Decides(results, now)
	return Outcome{Plan: &plan, Check: plan.Check}
}

// hear is Tell for the rest of a look.
func (p *look) hear(wanted kind.Surroundings, results []lifecycle.Surrounding) {
	heard := Tell(wanted, results, p.Now)
	p.Told, p.Plan, p.Check = heard.Told, heard.Plan, lifecycle.Soonest(p.Check, heard.Check)
}

// Surround brings what stands beside the driver to what the kind wants, within a time: it creates, updates in place and
// deletes. What somebody else made is never touched. No failure ends the pass: it becomes part of the status that the pass
// writes anyway, and is tried again after a while.
func (k Keeper) Surround(ctx context.Context, view dependents.View, wanted kind.Surroundings, within time.Duration) Outcome {
	p := &look{View: view}
	if !wanted.Unsettled {
		k.surround(ctx, p, wanted, within)
	}
	return p.Outcome
}

func (k Keeper) surround(ctx context.Context, p *look, wanted kind.Surroundings, within time.Duration) {
	k.sweepSecrets(ctx, p, wanted.Objects)
	key, uid := identity.Key(p.Owner), p.Owner.GetUID()
	remove := p.unwanted(wanted.Objects)
	if wanted.Stays {
		remove = slices.DeleteFunc(remove, func(object client.Object) bool { return dependents.KindOf(object) == "Service" })
	}
	last := k.Memory.last(key, uid)
	remove = slices.DeleteFunc(remove, func(object client.Object) bool { return last.made[nameOf(object)].holds(gone, p.Now) })
	if len(wanted.Objects) == 0 && len(remove) == 0 {
		if wanted.Stays || len(last.made) == 0 || len(p.unwanted(nil)) == 0 {
			k.Memory.nothing(key)
		}
		p.hear(wanted, nil)
		return
	}
	asked := DigestOf(wanted.Objects, remove)
	if last.asked != asked || p.lost(last.results) {
		last.failures, last.until, last.results = 0, time.Time{}, nil
	}
	if p.Now.Before(last.until) {
		p.Check = lifecycle.Soonest(p.Check, last.until.Sub(p.Now))
		p.hear(wanted, last.results)
		return
	}
	if len(wanted.Objects) == 0 {
		p.hear(wanted, last.results)
		p.Remove = remove
		return
	}
	next := k.bring(ctx, p, within, wanted, remove, last)
	next.asked = asked
	if !next.until.IsZero() {
		p.Check = lifecycle.Soonest(p.Check, next.until.Sub(p.Now))
	}
	k.Memory.note(key, next)
	p.hear(wanted, next.results)
}

// Clear deletes what stands beside a driver that does not go on, and returns when to look again; 0 = no wish. That the
// driver is over is stored by then, and nobody waits for this.
func (k Keeper) Clear(ctx context.Context, view dependents.View, remove []client.Object) time.Duration {
	if len(remove) == 0 {
		return 0
	}
	p := &look{View: view}
	key, asked := identity.Key(p.Owner), DigestOf(nil, remove)
	last := k.Memory.last(key, p.Owner.GetUID())
	if last.asked != asked {
		last.failures = 0
	}
	next := k.bring(ctx, p, Timeout, kind.Surroundings{}, remove, last)
	next.asked = asked
	if next.failures > 0 {
		p.Check = lifecycle.Soonest(p.Check, next.until.Sub(p.Now))
	} else {
		for _, object := range remove {
			next.made[nameOf(object)] = written{gone, p.Now} // until the cache shows it
		}
		if last.failures > 0 {
			p.Check = lifecycle.Soonest(p.Check, lookAgain) // what the status says against it holds no longer, and that it is gone is no news (Went)
		}
	}
	k.Memory.note(key, next)
	return p.Check
}

// bring carries out what is missing, side by side, and says what came of it. What is to go goes after that, since it may have to stay for it (kept).
func (k Keeper) bring(ctx context.Context, p *look, within time.Duration, wanted kind.Surroundings, remove []client.Object, last try) try {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p.scaled, p.leftMark = autoscaled(wanted.Objects), markOf(p.Owner.GetGeneration())
	results := make([]lifecycle.Surrounding, len(wanted.Objects)+len(remove))
	errs := make([]error, len(results))
	dependents.SideBySide(len(wanted.Objects), func(i int) {
		object := wanted.Objects[i]
		results[i], errs[i] = k.ensure(ctx, p, object, slices.Contains(wanted.Read, object.GetName()), last.made[nameOf(object)])
	})
	stay, goes := k.kept(remove, results[:len(wanted.Objects)])
	for i, object := range slices.Concat(goes, stay) {
		at := len(wanted.Objects) + i
		results[at] = lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName(), Old: i >= len(goes)}
	}
	dependents.SideBySide(len(goes), func(i int) { errs[len(wanted.Objects)+i] = k.DeleteOne(ctx, goes[i]) })
	next := try{uid: p.Owner.GetUID(), made: map[string]written{}}
	for i, object := range wanted.Objects {
		content := object.GetLabels()[lifecycle.ContentLabel]
		if cached := p.cached(object); !results[i].Stands || dependents.IsSecret(object) || cached == content || p.leftAsItIs(object, cached) {
			continue
		}
		was, name := last.made[nameOf(object)], nameOf(object)
		if !was.holds(content, p.Now) {
			was = written{content, p.Now}
		}
		if next.made[name] = was; was.at.Before(p.Now) || !dependents.AlwaysWatched(object) { // else its coming brings the next look
			p.Check = lifecycle.Soonest(p.Check, OwnTrust-p.Now.Sub(was.at)) // somebody may have deleted it since
		}
	}
	if errors.Join(errs...) == nil {
		next.results = results[:len(wanted.Objects)] // what was to go is gone
		return next
	}
	next.failures = last.failures + 1
	next.until = p.Now.Add(k.judge(ctx, results, errs, next.failures))
	next.results = slices.DeleteFunc(results, func(s lifecycle.Surrounding) bool { return s == lifecycle.Surrounding{Kind: s.Kind, Name: s.Name} })
	return next
}

// judge puts the errors into the results and returns when to try again.
func (k Keeper) judge(ctx context.Context, results []lifecycle.Surrounding, errs []error, failures int) time.Duration {
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
				cause = lifecycle.Cause{Reason: ReasonUnavailable, Message: err.Error()}
			}
		}
		results[i].Cause = cause
		if failures == 1 || cause.Reason == ReasonUnavailable {
			log.FromContext(ctx).Info("what stands beside the driver is not as wanted", "kind", results[i].Kind, "name", results[i].Name, "cause", err.Error())
		}
	}
	return min(first<<min(failures-1, 16), MaxInterval)
}

// causeError is an answer that is for good and that no status code tells: somebody else has the name, or the kind is not served.
type causeError struct{ cause lifecycle.Cause }

// Error says why.
func (e *causeError) Error() string { return e.cause.Message }

// ensure makes one object what it should be, by as few requests as the cache allows: none where it shows the object as it is wanted.
func (k Keeper) ensure(ctx context.Context, p *look, object client.Object, read bool, made written) (lifecycle.Surrounding, error) {
	is := lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName()}
	content := object.GetLabels()[lifecycle.ContentLabel]
	if err := standsBeside(object, p.Owner); err != nil {
		return is, err
	}
	if dependents.IsSecret(object) {
		return k.ensureSecret(ctx, p, object)
	}
	cached := p.cached(object)
	asItIs := p.leftAsItIs(object, cached)
	edited := cached == content && k.edited(p, object)
	if asItIs || !edited && (cached == content || made.holds(content, p.Now)) {
		if is.Stands = true; !read {
			return is, nil
		}
	}
	existed := cached != "" || is.Stands
	if existed {
		if is, err := k.corrected(ctx, p, object, edited); !apierrors.IsNotFound(err) {
			return is, err
		}
		is.Stands = false // it was deleted just now, by the end of the attempt before as well, and the cache does not know
	}
	first, err := k.createFirst(ctx, p, object, existed)
	if err == nil {
		is.Stands, is.Address = true, clusterAddress(first)
		first.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // an answer that is read into a type loses it
		k.wrote(p, first, time.Time{})
		return is, nil
	}
	if cause, missing := apianswer.NotServed(object, err); missing {
		return is, &causeError{cause}
	}
	if !apierrors.IsAlreadyExists(err) {
		return is, fmt.Errorf("create %s %s: %w", is.Kind, is.Name, err)
	}
	return k.corrected(ctx, p, object, edited)
}

// corrected is what is known of an object that exists once it was corrected.
func (k Keeper) corrected(ctx context.Context, p *look, object client.Object, edited bool) (lifecycle.Surrounding, error) {
	is := lifecycle.Surrounding{Kind: dependents.KindOf(object), Name: object.GetName()}
	existing, old, err := k.correct(ctx, p, object, edited)
	is.Stands, is.Old = err == nil, old
	if err == nil {
		is.Address = clusterAddress(existing)
	}
	return is, err
}

// correct looks at an object that exists, and applies what is wanted where it differs or was edited. With an error it tells whether the object, which could
// not be brought to what is wanted, does what it did before.
func (k Keeper) correct(ctx context.Context, p *look, object client.Object, edited bool) (is *unstructured.Unstructured, old bool, err error) {
	existing, err := k.readTree(ctx, object)
	if err != nil {
		there := k.vital(object) && p.inCache(object) != nil && !apierrors.IsNotFound(err)
		return nil, there, err // deleted just now, or weather, in which what was there is taken to be
	}
	if err := k.notOurs(p, object, existing); err != nil {
		return nil, false, err
	}
	tree, err := p.treeOver(object, existing)
	if err != nil {
		return nil, false, err
	}
	switch {
	case leftSet(existing):
		marked, err := k.markSet(ctx, p, object, existing, tree)
		return marked, false, err
	case p.leftAsItIs(object, existing.GetLabels()[lifecycle.ContentLabel]):
		return existing, false, nil
	case isLeft(existing): // what that operator's apply said, and is wanted no more, an apply of ours could not take back
		return nil, false, k.replaceSet(ctx, existing, tree)
	}
	old = k.vital(object) && leads(tree, existing.Object)
	differs := existing.GetLabels()[lifecycle.ContentLabel] != object.GetLabels()[lifecycle.ContentLabel]
	if edited && !differs {
		if differs, err = k.putsBack(p, tree, existing); err != nil {
			return nil, old, err
		}
	}
	if !differs {
		return existing, false, nil
	}
	updated, err := k.update(ctx, existing, tree)
	if err != nil {
		return nil, old, err
	}
	k.wrote(p, updated, p.Now)
	return updated, false, nil
}

// treeOver is what is applied of an object over what exists.
func (p *look) treeOver(object client.Object, existing *unstructured.Unstructured) (map[string]any, error) {
	tree, err := AppliedTree(object)
	if err != nil {
		return nil, err
	}
	return tree, p.keepScale(tree, existing)
}

// notOurs says why what has the name of an object that is wanted is none to be changed; nil where it may be.
func (k Keeper) notOurs(p *look, object client.Object, existing *unstructured.Unstructured) error {
	switch {
	case identity.OwnedBy(existing, p.Owner.GetUID()) && existing.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s %s is being deleted", dependents.KindOf(object), object.GetName())
	case identity.OwnedBy(existing, p.Owner.GetUID()):
		return nil
	case p.drivenElsewhere(existing):
		return &causeError{lifecycle.Cause{Reason: lifecycle.ReasonLeft, Message: "another operator made it"}}
	}
	if why := k.WhyFreed(existing, dependents.KindOf(object), p.Owner); why != "" {
		return &apianswer.Wait{Message: why} // it goes by itself: tried again soon, told when it lasts
	}
	return &causeError{dependents.NameTaken(existing, dependents.KindOf(object))}
}

// drivenElsewhere reports whether an object belongs to a driver that was taken over from another operator, which made the two.
func (p *look) drivenElsewhere(existing client.Object) bool {
	return slices.ContainsFunc(p.Seen.Drivers, func(d lifecycle.Driver) bool {
		return d.AttemptID != "" && identity.OwnedBy(existing, types.UID(d.UID))
	})
}

// update applies an object over the one that exists, which was found to be the owner's: it keeps what others added, takes away what we no longer
// want, and fails where the object was replaced or changed since it was read. What a create wrote belongs to another kind of field owner than what
// is applied, and has to become the latter's first: else a label that is not wanted any more would stay.
func (k Keeper) update(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) (*unstructured.Unstructured, error) {
	if err := k.clearPorts(ctx, existing, tree); err != nil {
		return nil, err
	}
	upgrade, err := csaupgrade.UpgradeManagedFieldsPatch(existing, sets.New(identity.FieldOwner), identity.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("read who owns the fields of %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	if len(upgrade) > 0 {
		if err := k.Patch(ctx, existing, client.RawPatch(types.JSONPatchType, upgrade)); err != nil {
			return nil, fmt.Errorf("take over the fields of %s %s: %w", existing.GetKind(), existing.GetName(), err)
		}
	}
	applied := &unstructured.Unstructured{Object: tree}
	applied.SetGroupVersionKind(existing.GroupVersionKind())
	applied.SetUID(existing.GetUID())
	applied.SetResourceVersion(existing.GetResourceVersion())
	err = k.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership)
	if apianswer.UndeclaredField(err) {
		if known := declared(k.Scheme(), applied.Object); known != nil {
			applied.Object = known
			err = k.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership)
		}
	}
	switch {
	case isSet(existing) && apianswer.ImmutableSpec(err):
		return nil, k.replaceSet(ctx, existing, tree)
	case err != nil:
		return nil, fmt.Errorf("update %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	return applied, nil
}

// readTree reads an object live, with everything that it has.
func (k Keeper) readTree(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(object, k.Scheme())
	if err != nil {
		return nil, err
	}
	tree := &unstructured.Unstructured{}
	tree.SetGroupVersionKind(gvk)
	if err := k.Live.Get(ctx, client.ObjectKeyFromObject(object), tree); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return tree, nil
}
