package preview

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Change describes what the operator would do after an edit of a stored object.
type Change struct {
	// Restarts is true if the operator stops the running attempt. It then starts a new attempt if the spec allows that.
	Restarts bool
	// Starts is true if the operator starts an attempt while no attempt runs.
	Starts bool
	// Beside names the auxiliary objects that the operator creates, changes or deletes, by kind and name.
	Beside []string
}

// Change computes the effect of an edit. The object live is stored in the cluster, and the object wanted has the edited
// spec and labels. Change computes the operator's next passes twice, with the edit and without it, and returns the
// differences.
func (o Operator) Change(live, wanted client.Object, pods []corev1.Pod) (change Change, err error) {
	k, err := o.Kind(live)
	if err != nil {
		return change, err
	}

	seen := seenPods(pods)
	before := o.after(k, live.DeepCopyObject().(client.Object), seen)
	edited := Edited(live, wanted)
	after := o.after(k, edited, seen)

	runs := active(&seen)
	for _, action := range after.did {
		if slices.Contains(before.did, action) {
			continue
		}

		switch action.Verb {
		case lifecycle.Delete:
			change.Restarts = change.Restarts || runs && (action.Part == lifecycle.Attempt || action.Part == lifecycle.DriverPod)
		case lifecycle.Create:
			change.Starts = change.Starts || !runs && action.Part == lifecycle.Submission
		}
	}

	if !change.Restarts && !change.Starts {
		change.Beside = differences(before.beside, after.beside)
	}
	return change, nil
}

// active reports whether a driver runs or is being launched.
func active(seen *lifecycle.Observed) bool {
	if len(seen.Drivers) == 0 {
		return len(seen.Submitters) > 0
	}
	return slices.ContainsFunc(seen.Drivers, func(d lifecycle.Driver) bool {
		return d.Phase != lifecycle.DriverSucceeded && d.Phase != lifecycle.DriverFailed
	})
}

// Edited returns a copy of the first object with the spec and the labels of the second object. If the specs differ, the
// generation of the copy is higher by one, as after an edit in the cluster.
func Edited(live, wanted client.Object) client.Object {
	edited := live.DeepCopyObject().(client.Object)
	fresh := wanted.DeepCopyObject().(client.Object)
	withDefaults(fresh)

	spec := reflect.ValueOf(edited).Elem().FieldByName("Spec")
	if !reflect.DeepEqual(spec.Interface(), reflect.ValueOf(fresh).Elem().FieldByName("Spec").Interface()) {
		edited.SetGeneration(edited.GetGeneration() + 1)
	}

	spec.Set(reflect.ValueOf(fresh).Elem().FieldByName("Spec"))
	edited.SetLabels(fresh.GetLabels())
	return edited
}

// outcome holds the results of several computed passes over an object.
type outcome struct {
	did    []lifecycle.Action
	beside map[string]string // digests of the wanted auxiliary objects, by kind and name
}

// after computes several passes over an object and returns their outcome. One pass is not enough, because a deletion
// waits until its reason is stored in the status.
func (o Operator) after(k Kind, object client.Object, seen lifecycle.Observed) outcome {
	if object.GetUID() == "" {
		object.SetUID(placeholderUID)
	}

	out := outcome{beside: map[string]string{}}
	for range maxPasses {
		plan := k.Decide(object, seen, o.Now)
		for _, action := range plan.Actions {
			action.Built = nil

			out.did = append(out.did, action)
			if action.Verb == lifecycle.Delete && action.Part == lifecycle.Attempt {
				seen = lifecycle.Observed{Confirmed: true} // its pods are gone in the next pass
			}
		}
	}

	if wanted := k.auxiliaryObjects(object, seen); !wanted.Unsettled {
		for _, one := range wanted.Objects {
			out.beside[one.GetObjectKind().GroupVersionKind().Kind+" "+one.GetName()] = one.GetLabels()[lifecycle.ContentLabel]
		}
	}
	return out
}

// differences compares two maps from names to digests. It returns the names whose digests differ or exist only in one
// map, sorted.
func differences(before, after map[string]string) (names []string) {
	for name, digest := range after {
		if before[name] != digest {
			names = append(names, name)
		}
	}

	for name := range before {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}

	slices.Sort(names)
	return names
}
