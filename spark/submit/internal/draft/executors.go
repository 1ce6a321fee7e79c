package draft

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// HasExecutorTemplate reports whether the driver gets a template for its executors.
func (d *Draft) HasExecutorTemplate() bool {
	return len(d.Request.ExecutorTemplate) > 0 || !d.Request.Executor.IsZero() || d.Request.Admitted.By != admit.None
}

// ExecutorTemplate returns the template that the driver gets for its executors, as JSON.
func ExecutorTemplate(d *Draft) (string, error) {
	t, err := d.template("ExecutorTemplate", d.Request.ExecutorTemplate, "spark.kubernetes.executor.podTemplateContainerName", overlay.ExecutorContainer)
	if err != nil {
		return "", err
	}

	pod := t.pod
	SetPodDefaults(pod, &t.spark)
	pod.Spec.Containers = append(pod.Spec.Containers, t.spark)

	pod.APIVersion, pod.Kind = "v1", "Pod"
	if err := ApplyOverlay("Executor", pod, t.spark.Name, d.Request.Executor); err != nil {
		return "", err
	}

	if err := markAdmitted(d, pod, t.spark.Name); err != nil {
		return "", err
	}
	// Spark uses the first container of the template, unless a key names another container that exists. Spark moves the
	// container that it uses to the end of the executor pod.
	last := len(pod.Spec.Containers) - 1
	pod.Spec.Containers = slices.Concat(pod.Spec.Containers[last:], pod.Spec.Containers[:last])

	tree, err := d.KeepExtra("ExecutorTemplate", pod, t.spark.Name, t.extra, d.Request.Executor)
	if err != nil {
		return "", err
	}

	d.Executors = pod
	text, err := json.MarshalIndent(tree, "", "  ")
	return string(text) + "\n", err
}

// markAdmitted adds the settings of Request.Admitted to the executors' template as labels and annotations. When the API
// server admits an executor, a webhook or a policy applies these settings. If the memory limit is below the executors'
// memory, markAdmitted returns an error, because the API server would reject every executor.
func markAdmitted(d *Draft, pod *corev1.Pod, container string) error {
	if limit := d.Request.Admitted.Overlay.MemoryLimit; limit != nil {
		// If the configuration of the memory is invalid, the driver reports the error.
		if memory, err := executorMemory(d); err == nil && limit.Cmp(memory) < 0 {
			return submit.FieldErrorf("Executor.MemoryLimit", "%s is below the memory that executors request, %s; set a higher limit", limit.String(), memory.String())
		}
	}
	return d.Request.Admitted.Mark(pod, container)
}

// WarnOverwritten warns about fields of the executors' overlay that have no effect.
func (d *Draft) WarnOverwritten() {
	messages := map[string]string{
		"MemoryLimit":                   "memoryLimit has no effect: Spark computes the limit from spark.executor.memory and spark.executor.memoryOverhead; set spark.executor.memoryOverhead",
		"TerminationGracePeriodSeconds": "terminationGracePeriodSeconds has no effect: Spark sets the period itself; set spark.kubernetes.executor.terminationGracePeriodSeconds",
	}
	for _, field := range submit.Overwritten(d.Request.SparkVersion, d.Request.Executor) {
		if field == "MemoryLimit" && d.Request.Admitted.Overlay.MemoryLimit != nil {
			continue
		}

		d.Warn("%s%s", submit.OverwrittenPrefix, messages[field])
	}
}
