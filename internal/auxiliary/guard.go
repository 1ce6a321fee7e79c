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

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// EditInterval is between two times that somebody's edit of what stands beside a driver is put back.
	EditInterval = time.Minute
	// LookInterval is between two looks at a vital object that others write to, such as a load balancer's controller to its status.
	LookInterval = OwnTrust
	// ReasonEdited is the cause's reason where somebody changes an object again and again.
	ReasonEdited = "EditedAgain"
)

// edited reports whether somebody else changed what stands beside a driver since it was written or last looked at.
//
// An Ingress or a route tells by its generation, and is put back at intervals: two who want it otherwise must not keep each other busy. A StatefulSet does too,
// and a look tells what an autoscaler did to it. What was edited while no operator ran is not seen. A vital object (Kind.Beside.Vital) tells by its resourceVersion that it may have been changed, and so does one that this
// process knows nothing of: a look tells (correct).
func (k Keeper) edited(p *look, object client.Object) bool {
	is := p.inCache(object)
	var wait time.Duration
	if k.vital(object) {
		was := k.Memory.seen(identity.Key(p.Owner), is)
		if !was.olderThan(is) {
			return false
		}
		wait = LookInterval - p.Now.Sub(was.looked)
	} else {
		was, known := k.Memory.written(identity.Key(p.Owner), is)
		if !known || is.Generation <= was.generation {
			return false
		}
		wait = EditInterval - p.Now.Sub(was.at)
	}
	if wait > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.Check = lifecycle.Soonest(p.Check, wait)
		return false
	}
	return true
}

func (k Keeper) vital(object client.Object) bool {
	return slices.Contains(k.Beside.Vital, dependents.KindOf(object))
}

// wrote notes an object that was written, if that is how an edit of it will show.
func (k Keeper) wrote(p *look, object client.Object, at time.Time) {
	if k.vital(object) || object.GetGeneration() > 0 {
		k.Memory.wrote(identity.Key(p.Owner), object, at)
	}
}

// putsBack reports whether an object that was edited, or is not known yet, is to be written. A vital one that says what is wanted is not; one that was put
// back a moment ago waits, and that is told.
func (k Keeper) putsBack(p *look, tree map[string]any, existing *unstructured.Unstructured) (bool, error) {
	if !k.vital(existing) && !isSet(existing) {
		return true, nil
	}
	if k.says(tree, existing) {
		k.Memory.looked(identity.Key(p.Owner), existing, p.Now)
		return false, nil
	}
	if !k.vital(existing) {
		return true, nil
	}
	if wait := EditInterval - p.Now.Sub(k.Memory.seen(identity.Key(p.Owner), existing).at); wait > 0 {
		return false, &causeError{lifecycle.Cause{Reason: ReasonEdited, Message: fmt.Sprintf(
			"somebody changes it again and again; it is put back once in %s at most. Find out who by its metadata.managedFields", EditInterval)}}
	}
	return true, nil
}

// says is saysAll, but for what the API server dropped.
func (k Keeper) says(tree map[string]any, existing *unstructured.Unstructured) bool {
	if saysAll(tree, existing) {
		return true
	}
	known := declared(k.Scheme(), tree)
	return known != nil && saysAll(known, existing)
}

// saysAll reports whether an object says everything that is applied to it, whatever else it says.
func saysAll(tree map[string]any, existing *unstructured.Unstructured) bool {
	return leads(tree, existing.Object) && contains(existing.Object, tree)
}

// leads reports whether a Service leads where another does: all that its selector says counts. Anything else does.
func leads(wanted, existing map[string]any) bool {
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

// clearPorts takes the name of a Service's port from another port that somebody gave it. To an apply the two are different entries of one list, and to the
// API server such a list is invalid. It also removes the ports that another operator wrote and that the kind wants on no Service (Kind.Beside.Closed): an apply
// would leave them, since they are that operator's fields.
func (k Keeper) clearPorts(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) error {
	if !k.vital(existing) || existing.GetKind() != "Service" {
		return nil
	}
	ports, _, _ := unstructured.NestedSlice(tree, "spec", "ports")
	there, _, _ := unstructured.NestedSlice(existing.Object, "spec", "ports")
	clash := func(is any) bool {
		if k.closed(is) && !samePort(ports, is) {
			return true
		}
		return slices.ContainsFunc(ports, func(wanted any) bool {
			theirs, _ := is.(map[string]any)
			ours, _ := wanted.(map[string]any)
			return theirs["name"] == ours["name"] && (theirs["port"] != ours["port"] || theirs["protocol"] != ours["protocol"])
		})
	}
	if !slices.ContainsFunc(there, clash) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": existing.GetUID(), "resourceVersion": existing.GetResourceVersion()},
		"spec":     map[string]any{"ports": slices.Concat(ports, slices.DeleteFunc(there, func(is any) bool { return clash(is) || samePort(ports, is) }))},
	})
	if err != nil {
		return err
	}
	if err := k.Patch(ctx, existing, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("take back the ports of %s %s: %w", existing.GetKind(), existing.GetName(), err)
	}
	return nil
}

// closed reports whether the kind wants a port, by its name and number, on no Service.
func (k Keeper) closed(is any) bool {
	entry, _ := is.(map[string]any)
	name, _ := entry["name"].(string)
	number, known := k.Beside.Closed[name]
	return known && entry["port"] == int64(number)
}

// samePort reports whether one of the ports has an entry's key.
func samePort(ports []any, is any) bool {
	entry, _ := is.(map[string]any)
	return slices.ContainsFunc(ports, func(other any) bool {
		port, _ := other.(map[string]any)
		return port["port"] == entry["port"] && port["protocol"] == entry["protocol"]
	})
}

// contains reports whether all that wanted says is said by a tree of JSON, which may say more: fields, and entries of lists.
func contains(is, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return len(wanted) == 0 && is == nil
		}
		for key, value := range wanted {
			if !contains(is[key], value) {
				return false
			}
		}
		return true
	case []any:
		is, _ := is.([]any)
		return !slices.ContainsFunc(wanted, func(value any) bool {
			return !slices.ContainsFunc(is, func(entry any) bool { return contains(entry, value) })
		})
	}
	return reflect.DeepEqual(is, wanted)
}

// AppliedTree is an object as it is applied: what its owner has to say.
func AppliedTree(object client.Object) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(tree, "status")
	unstructured.RemoveNestedField(tree, "metadata", "creationTimestamp")
	return tree, nil
}

// declared is an object's tree without the fields that the operator's types do not know; nil for a kind that it has no types of.
//
// A user's template may have fields that the operator's types do not know: those of a newer Kubernetes, and mistakes. They are kept, as they are in pods
// (spark/podtemplate). If the API server does not know them either, it drops them from what is created and rejects an apply: then they are left out.
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

// kept are those of the objects that nobody wants any more which stay for now: vital ones, as long as what is wanted of their kind does not stand. Clients
// may be connected by them.
func (k Keeper) kept(remove []client.Object, wanted []lifecycle.Surrounding) (stay, goes []client.Object) {
	for _, object := range remove {
		missing := slices.ContainsFunc(wanted, func(s lifecycle.Surrounding) bool { return s.Kind == dependents.KindOf(object) && !s.Stands })
		if k.vital(object) && missing {
			stay = append(stay, object)
		} else {
			goes = append(goes, object)
		}
	}
	return stay, goes
}

// lost reports whether one of the objects that were there last, though not as they are wanted, is not any more.
func (p *look) lost(results []lifecycle.Surrounding) bool {
	return slices.ContainsFunc(results, func(s lifecycle.Surrounding) bool {
		return s.Old && !slices.ContainsFunc(p.Set.Others, func(other metav1.PartialObjectMetadata) bool {
			return dependents.KindOf(&other) == s.Kind && other.Name == s.Name && other.DeletionTimestamp == nil
		})
	})
}
