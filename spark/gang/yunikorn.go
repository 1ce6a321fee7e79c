package gang

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// The labels and annotations of pods that YuniKorn reads, and the names of the task groups.
const (
	// QueueLabel is the label with the name of the queue.
	QueueLabel = "queue"
	// TaskGroupAnnotation is the annotation with the name of the task group to which a pod belongs.
	TaskGroupAnnotation = "yunikorn.apache.org/task-group-name"
	// TaskGroupsAnnotation is the annotation of the first pod with all task groups as JSON.
	TaskGroupsAnnotation = "yunikorn.apache.org/task-groups"

	// DriverTaskGroup and ExecutorTaskGroup are the names of a Spark application's task groups.
	DriverTaskGroup   = "spark-driver"
	ExecutorTaskGroup = "spark-executor"
)

// taskGroup describes YuniKorn's placeholders for the pods of one task. Placeholders are pods that reserve room until
// the real pods are created.
type taskGroup struct {
	Name         string              `json:"name"`
	MinMember    int32               `json:"minMember"`
	MinResource  map[string]string   `json:"minResource"`
	Labels       map[string]string   `json:"labels,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	Affinity     *corev1.Affinity    `json:"affinity,omitempty"`
}

// Named is a task with the name of its task group and the labels of its placeholders.
type Named struct {
	Task
	// Name of the task group.
	Name string
	// Labels of the placeholders, by which affinity rules of other pods find them. They must not be labels by which
	// Spark or an operator selects its own pods.
	Labels map[string]string
}

// TaskGroups returns the value of TaskGroupsAnnotation: a JSON list with one group for each task that has pods. A group
// contains the number of pods, the requests of one pod, and the pod's node placement. The groups have the order of the
// tasks, and the same tasks always give the same text.
func TaskGroups(tasks ...Named) (string, error) {
	groups := []taskGroup{}
	for _, task := range tasks {
		if task.Count <= 0 || task.Pod == nil {
			continue
		}

		group := taskGroup{
			Name: task.Name, MinMember: task.Count, MinResource: map[string]string{}, Labels: maps.Clone(task.Labels),
			NodeSelector: task.Pod.Spec.NodeSelector, Tolerations: task.Pod.Spec.Tolerations, Affinity: task.Pod.Spec.Affinity,
		}
		for name, amount := range Requests(task.Pod) {
			group.MinResource[string(name)] = amount.String()
		}

		groups = append(groups, group)
	}

	text, err := json.Marshal(groups)
	if err != nil {
		return "", fmt.Errorf("write the task groups: %w", err)
	}
	return string(text), nil
}
