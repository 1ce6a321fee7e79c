package kueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/gang"
)

// PodSets describes pods to Kueue: what they request, and what decides on which nodes they can run. It leaves out
// everything else, such as environment variables, because a Workload may be read by people who may not read those.
func PodSets(groups []dialect.Pods) (sets []PodSet) {
	for _, group := range groups {
		if group.Count > 0 {
			sets = append(sets, PodSet{Name: group.Role, Count: group.Count, Template: corev1.PodTemplateSpec{Spec: described(&group.Pod.Spec)}})
		}
	}
	return sets
}

func described(spec *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: containers(spec.InitContainers), Containers: containers(spec.Containers),
		Resources: spec.Resources, ResourceClaims: spec.ResourceClaims, Overhead: spec.Overhead, RuntimeClassName: spec.RuntimeClassName,
		NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints,
		SchedulerName: spec.SchedulerName, PriorityClassName: spec.PriorityClassName, RestartPolicy: spec.RestartPolicy,
	}
}

func containers(all []corev1.Container) (described []corev1.Container) {
	for i := range all {
		c := &all[i]
		described = append(described, corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy})
	}
	return described
}

// Hash identifies pod sets. Equal pod sets have the same hash, because JSON sorts the keys of maps.
func Hash(sets []PodSet) (string, error) {
	text, err := json.Marshal(sets)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// covers reports whether quota for some pod sets is enough for others: no pod set has more pods, requests more, or may
// run on other nodes. Another operator describes the same pods in another form.
func covers(quota, wanted []PodSet) bool {
	return !slices.ContainsFunc(wanted, func(set PodSet) bool {
		return !slices.ContainsFunc(quota, func(has PodSet) bool {
			return has.Name == set.Name && has.Count >= set.Count && maps.Equal(has.Template.Spec.NodeSelector, set.Template.Spec.NodeSelector) &&
				enough(has.requests(), set.requests())
		})
	})
}

func (s PodSet) requests() corev1.ResourceList {
	return gang.Requests(&corev1.Pod{Spec: s.Template.Spec})
}

// enough reports whether a list has at least the amounts of another.
func enough(has, wanted corev1.ResourceList) bool {
	for name, amount := range wanted {
		if have := has[name]; have.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

// podClass returns the name of the PriorityClass of the first pod set that has one.
func podClass(sets []PodSet) string {
	for _, set := range sets {
		if name := set.Template.Spec.PriorityClassName; name != "" {
			return name
		}
	}
	return ""
}
