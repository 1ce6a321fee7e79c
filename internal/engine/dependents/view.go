package dependents

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// View is the state of a custom resource in one pass. A view never changes: a fact that is found later leads to a new
// view.
type View struct {
	Owner   client.Object      // the custom resource, as it is stored
	Set     Set                // its dependents
	Created []client.Object    // objects that the pass created and that the cache may not show yet
	Seen    lifecycle.Observed // the facts of the dependents, and other facts
	Now     time.Time          // when the pass began
}

// Add returns the view with additional dependents, which were found or created after the view was read.
func (v View) Add(found Set, made []client.Object) View {
	v.Set = v.Set.Add(found)
	v.Created = joined(v.Created, made)
	return v
}

// WithFact returns a copy of the view in which the function fact has changed the observed state.
func (v View) WithFact(fact func(*lifecycle.Observed)) View {
	v.Seen.Drivers = slices.Clone(v.Seen.Drivers) // a fact may change one of them
	fact(&v.Seen)
	return v
}

// Deletable returns all dependents that the end of an attempt may have to delete, and the objects that the pass
// created.
func (v *View) Deletable() []client.Object { return slices.Concat(v.Set.Deletable(), v.Created) }

// Add returns the set with the drivers, submitters, other objects and runs of another set.
func (s Set) Add(found Set) Set {
	s.Drivers = joined(s.Drivers, found.Drivers)
	s.Submitters = joined(s.Submitters, found.Submitters)
	s.Others = joined(s.Others, found.Others)
	s.Runs = joined(s.Runs, found.Runs)
	return s
}

// joined returns a new list that has the elements of both lists. It does not change either list.
func joined[T any](list, more []T) []T {
	if len(more) == 0 {
		return list
	}
	return slices.Concat(list, more)
}

// AccountOf returns the service account of the driver that has the given UID. It returns "default" if the driver is
// unknown or names no account.
func (s *Set) AccountOf(driver string) string {
	i := slices.IndexFunc(s.Drivers, func(pod corev1.Pod) bool { return string(pod.UID) == driver })
	if i < 0 || s.Drivers[i].Spec.ServiceAccountName == "" {
		return "default" // the default of Kubernetes
	}
	return s.Drivers[i].Spec.ServiceAccountName
}
