package gang

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// What YuniKorn reads on pods.
const (
	// QueueLabel names the queue.
	QueueLabel = "queue"
	// TaskGroupAnnotation names the task group that a pod belongs to.
	TaskGroupAnnotation = "yunikorn.apache.org/task-group-name"
	// TaskGroupsAnnotation, on the first pod, holds all task groups as JSON.
	TaskGroupsAnnotation = "yunikorn.apache.org/task-groups"

	// DriverTaskGroup and ExecutorTaskGroup are the names of a Spark application's task groups.
	DriverTaskGroup   = "spark-driver"
	ExecutorTaskGroup = "spark-executor"
)

// taskGroup is what YuniKorn makes placeholders from: pods that keep the room until the real ones come.
type taskGroup struct {
	Name         string              `json:"name"`
	MinMember    int32               `json:"minMember"`
	MinResource  map[string]string   `json:"minResource"`
	Labels       map[string]string   `json:"labels,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	Affinity     *corev1.Affinity    `json:"affinity,omitempty"`
}

// Named is a task with what its placeholders are known by.
type Named struct {
	Task
	// Name of the task group.
	Name string
	// Labels of the placeholders, by which others' affinity finds them. They must not be those that Spark or an operator selects its own pods by.
	Labels map[string]string
}

// TaskGroups returns the value of TaskGroupsAnnotation: a JSON list with a group for each task that has pods, its size, what one pod asks for, and
// where it may run. The order is that of the tasks, and the same tasks give the same text.
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
