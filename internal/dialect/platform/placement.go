package platform

import (
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// roleOf returns the role of the settings that apply to pods with the given role in a queue.
func roleOf(role string) string {
	switch role {
	case string(lifecycle.Master):
		return Driver
	case string(lifecycle.Worker):
		return Executor
	}
	return role
}

// Placed returns settings with what a queue adds to the pods of an attempt. It takes precedence over the defaults. If
// the queue adds nothing, the result is s itself, which may be nil.
func (s *Settings) Placed(by map[string]lifecycle.Placement) *Settings {
	if len(by) == 0 {
		return s
	}

	placed := Settings{}
	if s != nil {
		placed = *s
	}

	placed.Placement, placed.Origins = map[string]lifecycle.Placement{}, maps.Clone(placed.Origins)
	if placed.Origins == nil {
		placed.Origins = map[string]string{}
	}

	for role, p := range by {
		role = roleOf(role)
		placed.Placement[role] = p

		for field, entries := range map[string]map[string]string{"labels": p.Labels, "annotations": p.Annotations, "nodeSelector": p.NodeSelector} {
			for key := range entries {
				placed.Origins[role+"."+field+"["+key+"]"] = p.Source
			}
		}
	}
	return &placed
}

// Unplaced returns settings without what a queue has added.
func (s *Settings) Unplaced() *Settings {
	if s == nil || s.Placement == nil {
		return s
	}

	plain := *s
	plain.Placement = nil
	return &plain
}

// podOf returns the settings of the pods with the given role, with what a queue adds to them.
func (s *Settings) podOf(role string) *Pod {
	placement, isPlaced := s.Placement[role]
	if !isPlaced {
		return s.Pod(role)
	}

	merged := func(defaults, placed map[string]string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, defaults)
		maps.Copy(all, placed)
		return all
	}
	pod := *s.Pod(role)
	pod.Labels, pod.Annotations = merged(pod.Labels, placement.Labels), merged(pod.Annotations, placement.Annotations)
	pod.NodeSelector = merged(pod.NodeSelector, placement.NodeSelector)
	pod.Tolerations = slices.Concat(placement.Tolerations, pod.Tolerations)
	return &pod
}

// Conflict returns where a custom resource contradicts what a queue adds to its pods, and why that is a fault. The
// arguments are the pod template of a role and the Spark configuration, as the user wrote them. The result at is a key
// of the configuration, if isKey is true, and otherwise a path in the template. It is empty if there is no conflict.
func (s *Settings) Conflict(raw []byte, conf map[string]string, role string) (at string, isKey bool, message string) {
	if s == nil {
		return "", false, ""
	}

	placement, isPlaced := s.Placement[role]
	if !isPlaced {
		return "", false, "" // the common case, in which the template is not read
	}

	tree := map[string]any{}
	if len(raw) > 0 && utiljson.Unmarshal(raw, &tree) != nil {
		return "", false, "" // validation reports the fault
	}

	kube := "spark.kubernetes." + role + "."

	for _, part := range []struct {
		section, field string
		keys           []string // prefixes of the keys that set an entry; the first key that is set has effect
		wanted         map[string]string
	}{
		{"spec", "nodeSelector", []string{kube + "node.selector.", "spark.kubernetes.node.selector."}, placement.NodeSelector},
		{"metadata", "labels", []string{kube + "label."}, placement.Labels},
		{"metadata", "annotations", []string{kube + "annotation."}, placement.Annotations},
	} {
		for _, entry := range sortedKeys(part.wanted) {
			wanted := part.wanted[entry]
			for _, prefix := range part.keys {
				if own, set := conf[prefix+entry]; set {
					if own != wanted {
						return prefix + entry, true, contradicted(own, wanted, placement.Source)
					}
					break
				}
			}

			if own, set := peek(tree, part.section, part.field)[entry]; set && own != any(wanted) {
				return part.section + "." + part.field + "[" + entry + "]", false, contradicted(own, wanted, placement.Source)
			}
		}
	}
	return "", false, ""
}

func contradicted(own any, wanted, source string) string {
	return fmt.Sprintf("is %q, but the queue admitted the pods with %q (%s); remove the value, or use a queue without it", fmt.Sprint(own), wanted, source)
}

// Placements returns what a queue has added to the pods of an attempt; nil if it added nothing.
func (s *Settings) Placements() map[string]lifecycle.Placement {
	if s == nil {
		return nil
	}
	return s.Placement
}
