package submit

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

const (
	templateVolume = "pod-template-volume"
	templateKey    = "podspec-configmap-key"
	templateFile   = "pod-spec-template.yml"
	templateDir    = "/opt/spark/pod-template"
)

// withoutReferences leaves "{{APP_ID}}" and the like as names alone.
var withoutReferences = strings.NewReplacer("{{", "", "}}", "")

// podTemplateStep hands the executors' pod template to the driver (PodTemplateConfigMapStep): the user's with the overlay on it, so that
// nothing has to be patched into the pods that Spark makes of it. The Request's labels go by configuration, which wins over a template.
func podTemplateStep(d *draft) error {
	const labels = "spark.kubernetes.executor.label."
	for key, value := range d.conf.WithPrefix(labels) {
		// The driver would refuse these, at run time. "{{APP_ID}}" and the like are replaced there.
		if err := checkLabel(key, withoutReferences.Replace(value)); err != nil {
			return keyError(labels+key, "%v", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.props.Set(labels+key, d.r.Labels[key])
	}
	if len(d.r.ExecutorTemplate) == 0 && d.r.Executor.IsZero() {
		return nil
	}
	d.tellOverwritten()
	text, err := executorTemplate(d)
	if err != nil {
		return err
	}
	name := bounded("", d.r.ResourceNamePrefix, "-driver-podspec-conf-map")
	if err := checkFiles("ExecutorTemplate", map[string]string{templateKey: text}); err != nil {
		return err
	}
	d.configMap(name, map[string]string{templateKey: text})
	d.mount(corev1.Volume{Name: templateVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		Items:                []corev1.KeyToPath{{Key: templateKey, Path: templateFile}},
	}}}, corev1.VolumeMount{MountPath: templateDir})
	d.props.Set("spark.kubernetes.executor.podTemplateFile", templateDir+"/"+templateFile)
	return nil
}

func executorTemplate(d *draft) (string, error) {
	t, err := d.template("ExecutorTemplate", d.r.ExecutorTemplate, "spark.kubernetes.executor.podTemplateContainerName", overlay.ExecutorContainer)
	if err != nil {
		return "", err
	}
	pod := t.pod
	hygiene(pod, &t.spark)
	pod.Spec.Containers = append(pod.Spec.Containers, t.spark)
	pod.APIVersion, pod.Kind = "v1", "Pod"
	if err := laidOver("Executor", pod, t.spark.Name, d.r.Executor); err != nil {
		return "", err
	}
	// Of a template Spark takes the first container, unless told a name that is there; in the pods it makes of it that is the last.
	last := len(pod.Spec.Containers) - 1
	pod.Spec.Containers = slices.Concat(pod.Spec.Containers[last:], pod.Spec.Containers[:last])
	tree, err := d.keepExtra("ExecutorTemplate", pod, t.spark.Name, t.extra, d.r.Executor)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(tree, "", "  ")
	return string(text) + "\n", err
}

// hygiene sets what we want of every pod, unless its template says otherwise: no environment variables for the namespace's Services, and
// the end of the log as the message of a container that failed without one.
func hygiene(pod *corev1.Pod, spark *corev1.Container) {
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = new(false)
	}
	lastWords(spark)
}

func lastWords(container *corev1.Container) {
	if container.TerminationMessagePolicy == "" {
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// laidOver applies an overlay and makes its error one of ours. The init containers that are there then, the template's and the overlay's, are heard
// as well: a pod with one that failed says nothing else.
func laidOver(field string, pod *corev1.Pod, container string, o overlay.Overlay) error {
	err := overlay.Apply(pod, container, o)
	if wrong, ok := errors.AsType[*overlay.Error](err); ok {
		return fieldError(field+"."+wrong.Field, "%s", wrong.Message)
	}
	for i := range pod.Spec.InitContainers {
		lastWords(&pod.Spec.InitContainers[i])
	}
	return err
}

// Overwritten returns the fields of an executor overlay that Spark of this version sets on executors itself, whatever their template says.
// Only a webhook, which sees the pods after Spark, can keep them. The names are those of overlay.Overlay's fields; a version that is not in
// the table counts as Build would count it. Build warns of each (BasicExecutorFeatureStep).
func Overwritten(sparkVersion string, o overlay.Overlay) []string {
	q, _ := quirksFor(sparkVersion)
	var fields []string
	if o.MemoryLimit != nil {
		fields = append(fields, "MemoryLimit")
	}
	if o.TerminationGracePeriodSeconds != nil && q.executorGrace {
		fields = append(fields, "TerminationGracePeriodSeconds")
	}
	return fields
}

// tellOverwritten warns of what the executors' overlay says in vain.
func (d *draft) tellOverwritten() {
	ways := map[string]string{
		"MemoryLimit":                   "Spark makes the executors' memory limit of spark.executor.memory and spark.executor.memoryOverhead; set spark.executor.memoryOverhead",
		"TerminationGracePeriodSeconds": "Spark gives executors a time of its own; set spark.kubernetes.executor.terminationGracePeriodSeconds",
	}
	for _, field := range Overwritten(d.r.SparkVersion, d.r.Executor) {
		d.warn("Executor.%s: has no effect unless the pod webhook keeps it: %s", field, ways[field])
	}
}
