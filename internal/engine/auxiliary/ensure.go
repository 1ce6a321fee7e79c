// Package auxiliary ensures the auxiliary objects of an owner: it creates and updates the wanted objects and deletes
// the unwanted ones. The auxiliary objects of a driver are those that its clients need and Spark itself does not:
// Services, Ingresses and routes. For a standalone cluster, all objects are auxiliary objects: StatefulSets,
// autoscalers, budgets and Secrets. A failure never ends the pass of the owner.
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

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// Timeout bounds the time that a pass spends on auxiliary objects. Without this bound, an admission webhook that
	// does not answer would prevent the status write.
	Timeout = 5 * time.Second
	// MaxTimeout is the largest bound. The bound is longer than Timeout if the rest of the pass took longer than
	// Timeout, which means that the API server is slow.
	MaxTimeout = 10 * time.Second
	// rejectedInterval is the time until a rejected request is repeated for the first time. The time doubles with each
	// failure, up to MaxInterval. After a transient error, the first retry follows after retryDelay instead.
	rejectedInterval = 15 * time.Second
	// MaxInterval is the longest time between two tries.
	MaxInterval = 5 * time.Minute
	// transientTries is the number of consecutive failures after which a transient error is reported.
	transientTries = 3
	// OwnTrust is the time for which the operator trusts its own write although the cache does not show it.
	OwnTrust = 5 * time.Second
	// retryDelay is the time until the first retry after a transient error.
	retryDelay = time.Second
	// gone is the value of write.content for an object that the operator deleted, in place of a digest.
	gone = "-"
	// ReasonUnavailable is the reason of the cause if requests keep failing with transient errors.
	ReasonUnavailable = "Unavailable"
)

// Kind is a kind with auxiliary objects.
type Kind interface {
	// AuxiliaryObjects returns the wanted auxiliary objects, and the functions that write their state into the object's
	// status. Its arguments are the object after Decide and the facts that Decide got.
	AuxiliaryObjects(object client.Object, seen lifecycle.Observed) dialect.AuxiliaryObjects
}

// Keeper ensures the auxiliary objects for all custom resources of one kind.
type Keeper struct {
	dependents.Client
	Auxiliary contract.Auxiliary
	Memory    *Memory
}

// Outcome is the result of a pass's work on auxiliary objects.
type Outcome struct {
	// Events are the Events to emit after the status was stored.
	Events []dialect.Event
	// Plan continues the pass's plan if the state of the object depends on its auxiliary objects. Otherwise it is nil.
	Plan *lifecycle.Plan
	// RequeueAfter is the time until the next pass; 0 = no request.
	RequeueAfter time.Duration
	// Remove holds the objects to delete after the status was stored (Clear).
	Remove []client.Object
}

// work holds the state of one pass while it works on the auxiliary objects of an owner.
type work struct {
	dependents.View
	Outcome
	mu            sync.Mutex // guards RequeueAfter while objects are ensured concurrently
	scaled        []string   // the wanted StatefulSets whose number of pods an autoscaler decides
	inheritedMark string     // the content label of inherited StatefulSets that stay as they are (inheritedContent)
}

// requeueAfter requests a pass after a duration. Objects that are ensured concurrently may call it.
func (w *work) requeueAfter(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, wait)
}

// RecordResults lets the kind write the results into the object's status, and returns the outcome. If the kind also
// decides about the rest of the pass (AuxiliaryObjects.Decide), the outcome contains its plan and the time of the next
// pass. Otherwise the outcome contains only events.
func RecordResults(wanted dialect.AuxiliaryObjects, results []lifecycle.AuxiliaryObject, now time.Time) Outcome {
	if wanted.Decide == nil {
		return Outcome{Events: wanted.Record(results, now)}
	}

	plan := wanted.Decide(results, now)
	return Outcome{Plan: &plan, RequeueAfter: plan.RequeueAfter}
}

// report adds the result of RecordResults to the outcome of the pass.
func (w *work) report(wanted dialect.AuxiliaryObjects, results []lifecycle.AuxiliaryObject) {
	result := RecordResults(wanted, results, w.Now)
	w.Events, w.Plan, w.RequeueAfter = result.Events, result.Plan, lifecycle.Soonest(w.RequeueAfter, result.RequeueAfter)
}

// Ensure creates, updates and deletes auxiliary objects within a time limit, until they are as the kind wants them. It
// never changes objects of other owners. A failure does not end the pass: it is reported in the status that the pass
// writes, and a later pass retries.
func (k Keeper) Ensure(ctx context.Context, view dependents.View, wanted dialect.AuxiliaryObjects, within time.Duration) Outcome {
	w := &work{View: view}
	if !wanted.Unsettled {
		k.ensureWanted(ctx, w, wanted, within)
	}
	return w.Outcome
}

func (k Keeper) ensureWanted(ctx context.Context, w *work, wanted dialect.AuxiliaryObjects, within time.Duration) {
	k.sweepSecrets(ctx, w, wanted.Objects)
	key, uid := identity.Key(w.Owner), w.Owner.GetUID()

	remove := w.unwanted(wanted.Objects)
	if wanted.KeepServices {
		remove = slices.DeleteFunc(remove, func(object client.Object) bool { return dependents.KindOf(object) == "Service" })
	}

	last := k.Memory.last(key, uid)

	remove = append(remove, k.inherited(ctx, w, wanted.Inherited)...)

	remove = slices.DeleteFunc(remove, func(object client.Object) bool { return last.made[nameOf(object)].isRecent(gone, w.Now) })
	if len(wanted.Objects) == 0 && len(remove) == 0 {
		if wanted.KeepServices || len(last.made) == 0 || len(w.unwanted(nil)) == 0 {
			k.Memory.clear(key)
		}

		w.report(wanted, nil)
		return
	}

	asked := DigestOf(wanted.Objects, remove)
	if last.digest != asked || w.objectsMissing(last.results) {
		last.failures, last.until, last.results = 0, time.Time{}, nil
	}

	if w.Now.Before(last.until) {
		w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, last.until.Sub(w.Now))
		w.report(wanted, last.results)
		return
	}

	if len(wanted.Objects) == 0 {
		w.report(wanted, last.results)
		w.Remove = remove
		return
	}

	next := k.ensureAll(ctx, w, within, wanted, remove, last)

	next.digest = asked
	if !next.until.IsZero() {
		w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, next.until.Sub(w.Now))
	}

	k.Memory.note(key, next)
	w.report(wanted, next.results)
}

// Clear deletes the auxiliary objects of a driver that has ended. It returns the time until the next pass, or 0 if no
// pass is needed. The caller stores the end of the driver in the status before it calls Clear, so that the deletions do
// not delay the status.
func (k Keeper) Clear(ctx context.Context, view dependents.View, remove []client.Object) time.Duration {
	if len(remove) == 0 {
		return 0
	}

	w := &work{View: view}
	key, asked := identity.Key(w.Owner), DigestOf(nil, remove)

	last := k.Memory.last(key, w.Owner.GetUID())
	if last.digest != asked {
		last.failures = 0
	}

	next := k.ensureAll(ctx, w, Timeout, dialect.AuxiliaryObjects{}, remove, last)

	next.digest = asked
	if next.failures > 0 {
		w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, next.until.Sub(w.Now))
	} else {
		for _, object := range remove {
			next.made[nameOf(object)] = write{gone, w.Now} // until the cache shows the deletion
		}

		if last.failures > 0 {
			// Another pass is needed: the failure in the status is outdated now, and the deletion event triggers no
			// pass (OwnDeletion).
			w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, retryDelay)
		}
	}

	k.Memory.note(key, next)
	return w.RequeueAfter
}

// ensureAll ensures the wanted objects concurrently and returns the results. After that it deletes the unwanted
// objects. Some unwanted objects must stay as long as a wanted object is missing (separateKept).
func (k Keeper) ensureAll(ctx context.Context, w *work, within time.Duration, wanted dialect.AuxiliaryObjects, remove []client.Object, last attempt) attempt {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	w.scaled, w.inheritedMark = autoscaled(wanted.Objects), inheritedContent(w.Owner.GetGeneration())
	results := make([]lifecycle.AuxiliaryObject, len(wanted.Objects)+len(remove))
	errs := make([]error, len(results))
	dependents.InParallel(len(wanted.Objects), func(i int) {
		object := wanted.Objects[i]
		results[i], errs[i] = k.ensure(ctx, w, object, slices.Contains(wanted.ReadAddresses, object.GetName()), last.made[nameOf(object)])
	})

	stay, goes := k.separateKept(remove, results[:len(wanted.Objects)])
	for i, object := range slices.Concat(goes, stay) {
		at := len(wanted.Objects) + i
		results[at] = lifecycle.AuxiliaryObject{Kind: dependents.KindOf(object), Name: object.GetName(), Outdated: i >= len(goes)}
	}

	dependents.InParallel(len(goes), func(i int) { errs[len(wanted.Objects)+i] = k.DeleteOne(ctx, goes[i]) })

	next := attempt{uid: w.Owner.GetUID(), made: map[string]write{}}
	for i, object := range wanted.Objects {
		content := object.GetLabels()[lifecycle.ContentLabel]
		if cached := w.cached(object); !results[i].Current || dependents.IsSecret(object) || cached == content || w.keptAsInherited(object, cached) {
			continue
		}

		made, name := last.made[nameOf(object)], nameOf(object)
		if !made.isRecent(content, w.Now) {
			made = write{content, w.Now}
		}

		if next.made[name] = made; made.at.Before(w.Now) || !dependents.AlwaysWatched(object) {
			// There may be no creation event that starts the next pass, so it is requested here. Somebody may have deleted
			// the object by then.
			w.RequeueAfter = lifecycle.Soonest(w.RequeueAfter, OwnTrust-w.Now.Sub(made.at))
		}
	}

	if errors.Join(errs...) == nil {
		next.results = results[:len(wanted.Objects)] // the unwanted objects are deleted
		return next
	}

	next.failures = last.failures + 1
	next.until = w.Now.Add(k.addCauses(ctx, results, errs, next.failures))
	next.results = slices.DeleteFunc(results, func(s lifecycle.AuxiliaryObject) bool {
		return s == lifecycle.AuxiliaryObject{Kind: s.Kind, Name: s.Name}
	})
	return next
}

// addCauses adds the causes of the errors to the results, and returns the time until the next try.
func (k Keeper) addCauses(ctx context.Context, results []lifecycle.AuxiliaryObject, errs []error, failures int) time.Duration {
	first := rejectedInterval
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
			cause = lifecycle.Cause{} // Kubernetes deletes everything
		case cause.Reason == "":
			first = retryDelay

			if failures >= transientTries {
				cause = lifecycle.Cause{Reason: ReasonUnavailable, Message: err.Error()}
			}
		}

		results[i].Cause = cause
		if failures == 1 || cause.Reason == ReasonUnavailable {
			log.FromContext(ctx).Info("Could not ensure an auxiliary object", "kind", results[i].Kind, "name", results[i].Name, "cause", err.Error())
		}
	}
	return min(first<<min(failures-1, 16), MaxInterval)
}

// causeError is a permanent failure that no status code of the API server shows: somebody else's object has the name,
// or the API server does not serve the kind.
type causeError struct{ cause lifecycle.Cause }

// Error returns the message of the cause.
func (e *causeError) Error() string { return e.cause.Message }

// ensure creates or updates one object so that it has the wanted state. It sends no request if the cache shows the
// wanted state, or if the operator's last write (made) had the same content and was so recent that the cache may not
// show it yet. Even then, ensure reads the object if the caller needs its address (read).
func (k Keeper) ensure(ctx context.Context, w *work, object client.Object, read bool, made write) (lifecycle.AuxiliaryObject, error) {
	state := lifecycle.AuxiliaryObject{Kind: dependents.KindOf(object), Name: object.GetName()}

	content := object.GetLabels()[lifecycle.ContentLabel]
	if err := checkRendered(object, w.Owner); err != nil {
		return state, err
	}

	if dependents.IsSecret(object) {
		return k.ensureSecret(ctx, w, object)
	}

	cached := w.cached(object)
	asItIs := w.keptAsInherited(object, cached)

	edited := cached == content && k.edited(w, object)
	if asItIs || !edited && (cached == content || made.isRecent(content, w.Now)) {
		if state.Current = true; !read {
			return state, nil
		}
	}

	existed := cached != "" || state.Current
	if existed {
		if state, err := k.corrected(ctx, w, object, edited); !apierrors.IsNotFound(err) {
			return state, err
		}
		// The object was deleted just now, perhaps at the end of the previous attempt, and the cache does not show that
		// yet.
		state.Current = false
	}

	first, err := k.createFirst(ctx, w, object, existed)
	if err == nil {
		state.Current, state.Address = true, clusterAddress(first)
		// Decoding into a typed object drops the kind.
		first.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		k.noteWrite(w, first, time.Time{})
		return state, nil
	}

	if cause, missing := apianswer.NotServed(object, err); missing {
		return state, &causeError{cause}
	}

	if !apierrors.IsAlreadyExists(err) {
		return state, fmt.Errorf("create %s %s: %w", state.Kind, state.Name, err)
	}
	return k.corrected(ctx, w, object, edited)
}

// corrected calls correct for an existing object, and returns the object's state for the status.
func (k Keeper) corrected(ctx context.Context, w *work, object client.Object, edited bool) (lifecycle.AuxiliaryObject, error) {
	state := lifecycle.AuxiliaryObject{Kind: dependents.KindOf(object), Name: object.GetName()}
	existing, old, err := k.correct(ctx, w, object, edited)

	state.Current, state.Outdated = err == nil, old
	if err == nil {
		state.Address = clusterAddress(existing)
	}
	return state, err
}

// correct reads an existing object, and applies the wanted state if the object differs from it or was edited. It
// returns the resulting object. If correct returns an error, old reports whether clients can still use the object in
// its previous state.
func (k Keeper) correct(ctx context.Context, w *work, object client.Object, edited bool) (now *unstructured.Unstructured, old bool, err error) {
	existing, err := k.readTree(ctx, object)
	if err != nil {
		there := k.vital(object) && w.inCache(object) != nil && !apierrors.IsNotFound(err)
		return nil, there, err // after a transient error, the object is assumed to exist
	}

	if err := k.notOurs(w, object, existing); err != nil {
		return nil, false, err
	}

	tree, err := w.treeOver(object, existing)
	if err != nil {
		return nil, false, err
	}

	switch {
	case isInheritedSet(existing):
		marked, err := k.markSet(ctx, w, object, existing, tree)
		return marked, false, err
	case w.keptAsInherited(object, existing.GetLabels()[lifecycle.ContentLabel]):
		return existing, false, nil
	case isInherited(existing): // our apply could not remove the fields that the other operator has applied
		return nil, false, k.replaceSet(ctx, existing, tree)
	}

	old = k.vital(object) && selectsSamePods(tree, existing.Object)

	differs := existing.GetLabels()[lifecycle.ContentLabel] != object.GetLabels()[lifecycle.ContentLabel]
	if edited && !differs {
		if differs, err = k.needsRewrite(w, tree, existing); err != nil {
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

	k.noteWrite(w, updated, w.Now)
	return updated, false, nil
}

// treeOver returns the fields of the wanted object that the operator applies to the existing object.
func (w *work) treeOver(object client.Object, existing *unstructured.Unstructured) (map[string]any, error) {
	tree, err := AppliedTree(object)
	if err != nil {
		return nil, err
	}
	return tree, w.keepScale(tree, existing)
}

// notOurs returns the reason why the operator must not change the existing object, as an error. It returns nil if the
// operator may change the object.
func (k Keeper) notOurs(w *work, object client.Object, existing *unstructured.Unstructured) error {
	switch {
	case identity.OwnedBy(existing, w.Owner.GetUID()) && existing.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s %s is being deleted", dependents.KindOf(object), object.GetName())
	case identity.OwnedBy(existing, w.Owner.GetUID()):
		return nil
	case w.drivenElsewhere(existing):
		return &causeError{lifecycle.Cause{Reason: lifecycle.ReasonInherited, Message: "another operator created this object together with the driver, so this operator does not change it"}}
	}

	if why := k.WhyNameFrees(existing, dependents.KindOf(object), w.Owner); why != "" {
		// The object will be deleted. The operator retries soon, and reports the object if it still exists later.
		return &apianswer.Wait{Message: why, Unwatched: true}
	}
	return &causeError{dependents.NameTaken(existing, dependents.KindOf(object))}
}

// drivenElsewhere reports whether the existing object is owned by an inherited driver. In this case another operator
// created both the driver and the object.
func (w *work) drivenElsewhere(existing client.Object) bool {
	return slices.ContainsFunc(w.Seen.Drivers, func(d lifecycle.Driver) bool {
		return d.AttemptID != "" && identity.OwnedBy(existing, types.UID(d.UID))
	})
}

// update applies the wanted object to the existing object, which belongs to the owner. It keeps the fields that others
// have set, and removes the operator's own fields that are no longer wanted. It fails if the existing object was
// replaced or changed after the operator read it.
//
// The managed fields list a create request and an apply as two different managers. An apply removes only fields that an
// earlier apply has set. Therefore update first moves the fields of the operator's create request to the manager of its
// applies. Otherwise the apply would, for example, not remove a label that is no longer wanted.
func (k Keeper) update(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) (*unstructured.Unstructured, error) {
	if err := k.clearPorts(ctx, existing, tree); err != nil {
		return nil, err
	}

	upgrade, err := csaupgrade.UpgradeManagedFieldsPatch(existing, sets.New(identity.FieldOwner), identity.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("read the owners of the fields of %s %s: %w", existing.GetKind(), existing.GetName(), err)
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

// readTree reads an object with all its fields from the API server.
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
