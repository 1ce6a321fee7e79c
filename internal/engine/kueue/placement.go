package kueue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// flavorsOf returns the names of the flavors that an admission assigns to a pod set, each once, in the order of the
// resources' names.
func flavorsOf(w *Workload, set string) (names []string) {
	if w.Status.Admission == nil {
		return nil
	}

	for _, assigned := range w.Status.Admission.PodSetAssignments {
		if assigned.Name != set {
			continue
		}

		for _, resource := range slices.Sorted(maps.Keys(assigned.Flavors)) {
			if name := assigned.Flavors[resource]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// updates returns what the admission checks of a Workload add to a pod set. Of each check, only the first update of the
// pod set counts.
func updates(w *Workload, set string) (all []lifecycle.Placement) {
	for _, check := range w.Status.AdmissionChecks {
		i := slices.IndexFunc(check.PodSetUpdates, func(u PodSetUpdate) bool { return u.Name == set })
		if i < 0 {
			continue
		}

		u := check.PodSetUpdates[i]
		all = append(all, lifecycle.Placement{Source: "admission check " + check.Name, Labels: u.Labels, Annotations: u.Annotations, NodeSelector: u.NodeSelector, Tolerations: u.Tolerations})
	}
	return all
}

// placements returns what an admission adds to the pods of each role. It reads the assigned flavors. The second result
// is a contradiction, which no repetition resolves.
func placements(ctx context.Context, live client.Reader, w *Workload, groups []dialect.Pods) (map[string]lifecycle.Placement, *lifecycle.Cause, error) {
	all, read := map[string]lifecycle.Placement{}, map[string]ResourceFlavor{}
	for _, group := range groups {
		var added []lifecycle.Placement
		for _, name := range flavorsOf(w, group.Role) {
			flavor, known := read[name]
			if !known {
				if err := live.Get(ctx, client.ObjectKey{Name: name}, &flavor); err != nil {
					return nil, nil, fmt.Errorf("read ResourceFlavor %s, from which Workload %s has its quota: %w", name, w.Name, err)
				}

				read[name] = flavor
			}

			added = append(added, lifecycle.Placement{Source: "ResourceFlavor " + name, NodeSelector: flavor.Spec.NodeLabels, Tolerations: flavor.Spec.Tolerations})
		}

		placement, problem := merge(group, append(added, updates(w, group.Role)...))
		if problem != "" {
			return nil, &lifecycle.Cause{Reason: lifecycle.ReasonPlacement, Message: problem}, nil
		}

		if placement.Source != "" {
			all[group.Role] = placement
		}
	}
	return all, nil, nil
}

// merge combines the additions to the pods of a role. It returns a message if two of them set the same key to different
// values. The dialects compare the sum with the user's own values, because they know the fields.
func merge(group dialect.Pods, added []lifecycle.Placement) (sum lifecycle.Placement, problem string) {
	for _, next := range added {
		for _, part := range []struct {
			what string
			next map[string]string
			sum  *map[string]string
		}{
			{"node selector", next.NodeSelector, &sum.NodeSelector},
			{"label", next.Labels, &sum.Labels},
			{"annotation", next.Annotations, &sum.Annotations},
		} {
			if key, set := contradiction(part.next, *part.sum); key != "" {
				return sum, fmt.Sprintf("%s sets the %s %s of the %s pods to %q, but %s sets it to %q; correct the queue",
					next.Source, part.what, key, group.Role, part.next[key], sum.Source, set)
			}

			if *part.sum == nil && len(part.next) > 0 {
				*part.sum = map[string]string{}
			}

			maps.Copy(*part.sum, part.next)
		}

		for _, toleration := range next.Tolerations {
			if !tolerates(append(slices.Clip(sum.Tolerations), group.Pod.Spec.Tolerations...), toleration) {
				sum.Tolerations = append(sum.Tolerations, toleration)
			}
		}

		if len(next.Labels)+len(next.Annotations)+len(next.NodeSelector)+len(next.Tolerations) > 0 {
			sum.Source = strings.TrimPrefix(sum.Source+", "+next.Source, ", ")
		}
	}
	return sum, ""
}

// contradiction returns the first key that has another value in the earlier map, and that value.
func contradiction(next, earlier map[string]string) (key, value string) {
	for _, key := range slices.Sorted(maps.Keys(next)) {
		if set, isSet := earlier[key]; isSet && set != next[key] {
			return key, set
		}
	}
	return "", ""
}

// tolerates reports whether a list has a toleration, whatever its duration.
func tolerates(all []corev1.Toleration, wanted corev1.Toleration) bool {
	return slices.ContainsFunc(all, func(t corev1.Toleration) bool {
		return t.Key == wanted.Key && operator(t) == operator(wanted) && t.Value == wanted.Value && t.Effect == wanted.Effect
	})
}

func operator(t corev1.Toleration) corev1.TolerationOperator {
	if t.Operator == "" {
		return corev1.TolerationOpEqual
	}
	return t.Operator
}
