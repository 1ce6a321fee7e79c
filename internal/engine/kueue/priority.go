package kueue

import (
	"context"
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// classOf returns the priority class that a custom resource names: the WorkloadPriorityClass of its label, or the
// PriorityClass of its pods.
func classOf(owner client.Object, sets []PodSet) PriorityClassRef {
	if name := owner.GetLabels()[PriorityLabel]; name != "" {
		return PriorityClassRef{Group: groupVersion.Group, Kind: "WorkloadPriorityClass", Name: name}
	}

	if name := podClass(sets); name != "" {
		return PriorityClassRef{Group: schedulingv1.GroupName, Kind: "PriorityClass", Name: name}
	}
	return PriorityClassRef{}
}

// prioritize sets the priority of a Workload from a class. Without a class, it uses the default of Kubernetes. If the
// operator has no right to read the class, the priority stays unset.
func prioritize(ctx context.Context, live client.Reader, w *Workload, class PriorityClassRef) error {
	value, err := priority(ctx, live, &class)
	if apierrors.IsForbidden(err) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("read the priority of Workload %s: %w", w.Name, err)
	}

	w.Spec.Priority, w.Spec.PriorityClassRef = &value, nil
	if class.Name != "" {
		w.Spec.PriorityClassRef = &class
	}
	return nil
}

// priority returns the value of a class. If the class has no name, the result is that of the cluster's default class,
// whose name priority then sets; 0 if there is none.
func priority(ctx context.Context, live client.Reader, class *PriorityClassRef) (int32, error) {
	switch class.Kind {
	case "WorkloadPriorityClass":
		var found WorkloadPriorityClass
		err := live.Get(ctx, client.ObjectKey{Name: class.Name}, &found)
		return found.Value, err
	case "PriorityClass":
		var found schedulingv1.PriorityClass
		err := live.Get(ctx, client.ObjectKey{Name: class.Name}, &found)
		return found.Value, err
	}

	var all schedulingv1.PriorityClassList
	if err := live.List(ctx, &all); err != nil {
		return 0, err
	}

	var lowest *schedulingv1.PriorityClass
	for i := range all.Items {
		if found := &all.Items[i]; found.GlobalDefault && (lowest == nil || found.Value < lowest.Value) {
			lowest = found
		}
	}

	if lowest == nil {
		return 0, nil
	}

	*class = PriorityClassRef{Group: schedulingv1.GroupName, Kind: "PriorityClass", Name: lowest.Name}
	return lowest.Value, nil
}
