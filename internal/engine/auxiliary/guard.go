package auxiliary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// EditInterval is the shortest time between two reversals of other clients' edits.
	EditInterval = time.Minute
	// LookInterval is the shortest time between two reads of a vital object that other clients write to. For example,
	// the controller of a load balancer writes to the status of a Service.
	LookInterval = OwnTrust
	// ReasonEdited is the reason of the cause if somebody changes an object again and again.
	ReasonEdited = "EditedAgain"
)

// edited reports whether another client may have changed an auxiliary object after the operator wrote or last read it.
// It does not detect an edit from a time when no operator was running.
//
// For an Ingress, a route or a StatefulSet, a higher generation shows an edit. edited returns true only if the operator
// wrote the object at least EditInterval ago. Otherwise the operator and another client that changes the same object
// would keep each other busy. An autoscaler changes the generation of a StatefulSet too, so the caller then reads the
// StatefulSet to find out who made the edit.
//
// For a vital object (contract.Auxiliary.Vital), and for a kind without a generation, a newer resourceVersion can be an
// edit or a new status. Therefore edited returns true, and the caller reads the object to find out. It also returns
// true for a vital object that this process has neither written nor read. For each object, it returns true at most once
// in LookInterval.
func (k Keeper) edited(w *work, object client.Object) bool {
	cached := w.inCache(object)

	var wait time.Duration
	if k.byVersion(cached) {
		last := k.Memory.seen(identity.Key(w.Owner), cached)
		if last.uid == "" && !k.vital(object) || !last.olderThan(cached) {
			return false
		}

		wait = LookInterval - w.Now.Sub(last.verifiedAt)
	} else {
		last, known := k.Memory.lastWrite(identity.Key(w.Owner), cached)
		if !known || cached.Generation <= last.generation {
			return false
		}

		wait = EditInterval - w.Now.Sub(last.at)
	}

	if wait > 0 {
		w.requeueAfter(wait)
		return false
	}
	return true
}

func (k Keeper) vital(object client.Object) bool {
	return slices.Contains(k.Auxiliary.Vital, dependents.KindOf(object))
}

// byVersion reports whether a newer resourceVersion of an object shows a possible edit. For all other objects, a higher
// generation does.
func (k Keeper) byVersion(object client.Object) bool {
	return k.vital(object) || object.GetGeneration() == 0
}

// noteWrite records that the operator wrote an object. It does so only for an object whose resourceVersion or
// generation is used to detect a later edit.
func (k Keeper) noteWrite(w *work, object client.Object, at time.Time) {
	key := identity.Key(w.Owner)
	if k.vital(object) || object.GetGeneration() > 0 || k.Memory.seen(key, object).uid != "" {
		k.Memory.noteWrite(key, object, at)
	}
}

// needsRewrite reports whether the operator has to write an object that may have been edited. It returns false if the
// object still has all wanted content, and is a vital object, a StatefulSet, or of a kind without a generation. If the
// operator reverted an edit of such an object, but not of a StatefulSet, less than EditInterval ago, needsRewrite
// returns an error, so that a later pass reverts the new edit.
func (k Keeper) needsRewrite(w *work, tree map[string]any, existing *unstructured.Unstructured) (bool, error) {
	byVersion := k.byVersion(existing)
	if !byVersion && !isSet(existing) {
		return true, nil
	}

	if k.matches(tree, existing) {
		k.Memory.verified(identity.Key(w.Owner), existing, w.Now)
		return false, nil
	}

	if !byVersion {
		return true, nil
	}

	if wait := EditInterval - w.Now.Sub(k.Memory.seen(identity.Key(w.Owner), existing).at); wait > 0 {
		return false, &causeError{lifecycle.Cause{Reason: ReasonEdited, Message: fmt.Sprintf(
			"another client repeatedly changes this object, and the operator reverts its changes at most once in %s; find the client in metadata.managedFields, and stop it", EditInterval)}}
	}
	return true, nil
}

// matches reports whether an object has every field that the operator applies. Fields that the API server does not know
// may be missing.
func (k Keeper) matches(tree map[string]any, existing *unstructured.Unstructured) bool {
	if matchesAll(tree, existing) {
		return true
	}

	known := declared(k.Scheme(), tree)
	return known != nil && matchesAll(known, existing)
}

// matchesAll reports whether an object has every field that the operator applies. The object may have more fields, but
// a Service must have exactly the wanted selector.
func matchesAll(tree map[string]any, existing *unstructured.Unstructured) bool {
	return selectsSamePods(tree, existing.Object) && contains(existing.Object, tree)
}

// selectsSamePods reports whether two Services have the same selector, and the existing Service does not redirect its
// clients elsewhere with the type ExternalName. It returns true for other kinds.
func selectsSamePods(wanted, existing map[string]any) bool {
	if existing["kind"] != "Service" {
		return true
	}

	to := func(tree map[string]any) map[string]string {
		selector, _, _ := unstructured.NestedStringMap(tree, "spec", "selector")
		return selector
	}
	kind, _, _ := unstructured.NestedString(existing, "spec", "type")
	return kind != "ExternalName" && maps.Equal(to(wanted), to(existing))
}

// clearPorts removes two kinds of ports from an existing Service before an apply:
//
//   - Ports that somebody else added with a name that the wanted Service uses. An apply would keep both ports, because
//     their list keys differ, and the API server rejects two ports with the same name.
//   - Ports that another operator wrote and that no Service of the kind should have (contract.Auxiliary.ClosedPorts).
//     An apply would keep these ports, because they are fields of the other operator.
func (k Keeper) clearPorts(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) error {
	if !k.vital(existing) || existing.GetKind() != "Service" {
		return nil
	}

	ports, _, _ := unstructured.NestedSlice(tree, "spec", "ports")
	there, _, _ := unstructured.NestedSlice(existing.Object, "spec", "ports")

	clash := func(port any) bool {
		if k.isClosedPort(port) && !samePort(ports, port) {
			return true
		}
		return slices.ContainsFunc(ports, func(wanted any) bool {
			theirs, _ := port.(map[string]any)
			ours, _ := wanted.(map[string]any)
			return theirs["name"] == ours["name"] && (theirs["port"] != ours["port"] || theirs["protocol"] != ours["protocol"])
		})
	}
	if !slices.ContainsFunc(there, clash) {
		return nil
	}

	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": existing.GetUID(), "resourceVersion": existing.GetResourceVersion()},
		"spec":     map[string]any{"ports": slices.Concat(ports, slices.DeleteFunc(there, func(port any) bool { return clash(port) || samePort(ports, port) }))},
	})
	if err != nil {
		return err
	}

	if err := k.Patch(ctx, existing, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("remove the ports that others added to %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	return nil
}

// isClosedPort reports whether a port has the name and number of one of the kind's ClosedPorts.
func (k Keeper) isClosedPort(port any) bool {
	entry, _ := port.(map[string]any)
	name, _ := entry["name"].(string)
	number, known := k.Auxiliary.ClosedPorts[name]
	return known && entry["port"] == int64(number)
}

// samePort reports whether a list of ports contains a port with the same port number and protocol as the given entry.
// These two fields are the list key.
func samePort(ports []any, entry any) bool {
	wanted, _ := entry.(map[string]any)
	return slices.ContainsFunc(ports, func(other any) bool {
		port, _ := other.(map[string]any)
		return port["port"] == wanted["port"] && port["protocol"] == wanted["protocol"]
	})
}

// contains reports whether a JSON tree contains everything that is in the wanted tree. The tree may have further fields
// and list entries.
func contains(tree, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		have, ok := tree.(map[string]any)
		if !ok {
			return len(wanted) == 0 && have == nil
		}

		for key, value := range wanted {
			if !contains(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, _ := tree.([]any)
		return !slices.ContainsFunc(wanted, func(value any) bool {
			return !slices.ContainsFunc(have, func(entry any) bool { return contains(entry, value) })
		})
	}
	return reflect.DeepEqual(tree, wanted)
}

// AppliedTree returns the fields of an object that the operator applies. These are all fields except the status and the
// creation time.
func AppliedTree(object client.Object) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}

	unstructured.RemoveNestedField(tree, "status")
	unstructured.RemoveNestedField(tree, "metadata", "creationTimestamp")
	return tree, nil
}

// declared returns an object's tree with only those fields that the operator's Go types declare. It returns nil for a
// kind that has no Go type.
//
// A user's template may have fields that the Go types do not declare: fields of a newer Kubernetes, and mistakes. The
// operator sends these fields, as it does in pods (spark/podtemplate). If the API server does not know a field either,
// it drops the field when it creates the object, but it rejects an apply. After such a rejection, the operator applies
// the result of declared instead.
func declared(scheme *runtime.Scheme, tree map[string]any) map[string]any {
	typed, err := scheme.New((&unstructured.Unstructured{Object: tree}).GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(tree, typed) != nil {
		return nil
	}

	object, ok := typed.(client.Object)
	if !ok {
		return nil
	}

	known, err := AppliedTree(object)
	if err != nil {
		return nil
	}
	return known
}

// separateKept divides the unwanted objects into those that stay for now and those to delete. A vital object stays as
// long as a wanted object of its kind is missing, because clients may be connected through it.
func (k Keeper) separateKept(remove []client.Object, wanted []lifecycle.AuxiliaryObject) (stay, goes []client.Object) {
	for _, object := range remove {
		missing := slices.ContainsFunc(wanted, func(s lifecycle.AuxiliaryObject) bool { return s.Kind == dependents.KindOf(object) && !s.Current })
		if k.vital(object) && missing {
			stay = append(stay, object)
		} else {
			goes = append(goes, object)
		}
	}
	return stay, goes
}

// objectsMissing reports whether an object no longer exists although the last try left it in its previous state
// (Outdated).
func (w *work) objectsMissing(results []lifecycle.AuxiliaryObject) bool {
	return slices.ContainsFunc(results, func(s lifecycle.AuxiliaryObject) bool {
		return s.Outdated && !slices.ContainsFunc(w.Set.Others, func(other metav1.PartialObjectMetadata) bool {
			return dependents.KindOf(&other) == s.Kind && other.Name == s.Name && other.DeletionTimestamp == nil
		})
	})
}
