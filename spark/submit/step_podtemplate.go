package submit

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

const (
	templateVolume = "pod-template-volume"
	templateKey    = "podspec-configmap-key"
	templateFile   = "pod-spec-template.yml"
	templateDir    = "/opt/spark/pod-template"
)

// withoutReferences removes the braces of markers such as "{{APP_ID}}". The API server would reject braces in a label
// value, but Spark replaces the markers before it creates a pod.
var withoutReferences = strings.NewReplacer("{{", "", "}}", "")

// podTemplateStep passes the executors' pod template to the driver (PodTemplateConfigMapStep). It first applies the
// overlay to the user's template, so the pods that Spark builds from the template need no further change. The Request's
// labels are not in the template but in the configuration, which overrides the template.
func podTemplateStep(d *draft) error {
	const labels = "spark.kubernetes.executor.label."
	for key, value := range d.conf.WithPrefix(labels) {
		// The driver would reject these labels when it runs. Markers such as "{{APP_ID}}" are valid, because the driver
		// replaces them.
		if err := checkLabel(key, withoutReferences.Replace(value)); err != nil {
			return KeyErrorf(labels+key, "%v", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.r.Labels)) {
		d.props.Set(labels+key, d.r.Labels[key])
	}
	if !d.hasExecutorTemplate() {
		return nil
	}
	d.warnOverwritten()
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

// hasExecutorTemplate reports whether the driver gets a template for its executors.
func (d *draft) hasExecutorTemplate() bool {
	return len(d.r.ExecutorTemplate) > 0 || !d.r.Executor.IsZero() || d.r.Admitted.By != admit.None
}

func executorTemplate(d *draft) (string, error) {
	t, err := d.template("ExecutorTemplate", d.r.ExecutorTemplate, "spark.kubernetes.executor.podTemplateContainerName", overlay.ExecutorContainer)
	if err != nil {
		return "", err
	}
	pod := t.pod
	setPodDefaults(pod, &t.spark)
	pod.Spec.Containers = append(pod.Spec.Containers, t.spark)
	pod.APIVersion, pod.Kind = "v1", "Pod"
	if err := applyOverlay("Executor", pod, t.spark.Name, d.r.Executor); err != nil {
		return "", err
	}
	if err := markAdmitted(d, pod, t.spark.Name); err != nil {
		return "", err
	}
	// Spark uses the first container of the template, unless a key names another container that exists. Spark moves the
	// container that it uses to the end of the executor pod.
	last := len(pod.Spec.Containers) - 1
	pod.Spec.Containers = slices.Concat(pod.Spec.Containers[last:], pod.Spec.Containers[:last])
	tree, err := d.keepExtra("ExecutorTemplate", pod, t.spark.Name, t.extra, d.r.Executor)
	if err != nil {
		return "", err
	}
	d.executors = pod
	text, err := json.MarshalIndent(tree, "", "  ")
	return string(text) + "\n", err
}

// markAdmitted adds the settings of Request.Admitted to the executors' template as labels and annotations. When the API
// server admits an executor, a webhook or a policy applies these settings. If the memory limit is below the executors'
// memory, markAdmitted returns an error, because the API server would reject every executor.
func markAdmitted(d *draft, pod *corev1.Pod, container string) error {
	if limit := d.r.Admitted.Overlay.MemoryLimit; limit != nil {
		// If the configuration of the memory is invalid, the driver reports the error.
		if memory, err := executorMemory(d); err == nil && limit.Cmp(memory) < 0 {
			return FieldErrorf("Executor.MemoryLimit", "%s is below the memory that executors request, %s; set a higher limit", limit.String(), memory.String())
		}
	}
	return d.r.Admitted.Mark(pod, container)
}

// setPodDefaults sets two defaults of every pod unless the pod's template sets them. The pod gets no environment
// variables for the namespace's Services. If a container fails without a message, the end of its log becomes its
// message.
func setPodDefaults(pod *corev1.Pod, spark *corev1.Container) {
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = new(false)
	}
	setMessagePolicy(spark)
}

func setMessagePolicy(container *corev1.Container) {
	if container.TerminationMessagePolicy == "" {
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// applyOverlay applies an overlay to the pod. It converts an *overlay.Error into an *Error that names the field. It
// also gives all init containers, of the template and of the overlay, the default message policy, because the message
// of a failed init container is the only message of the pod.
func applyOverlay(field string, pod *corev1.Pod, container string, o overlay.Overlay) error {
	err := overlay.Apply(pod, container, o)
	if wrong, ok := errors.AsType[*overlay.Error](err); ok {
		return FieldErrorf(field+"."+wrong.Field, "%s", wrong.Message)
	}
	for i := range pod.Spec.InitContainers {
		setMessagePolicy(&pod.Spec.InitContainers[i])
	}
	return err
}

// Overwritten returns the fields of an executor overlay that Spark of this version overrides on executors, whatever the
// executors' template says (BasicExecutorFeatureStep). Only Request.Admitted can restore these fields, because it
// changes the pods after Spark. The names are those of overlay.Overlay's fields. A version that is not in the table of
// lines counts as the line that Build would use for it. Build warns about each of these fields, except for a memory
// limit that Request.Admitted restores.
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

// OverwrittenPrefix is the beginning of each warning about a field that Overwritten returns. A caller that reports such
// fields itself, under the names in its own API, can find these warnings by the prefix and leave them out.
const OverwrittenPrefix = "the executors' "

// warnOverwritten warns about fields of the executors' overlay that have no effect.
func (d *draft) warnOverwritten() {
	messages := map[string]string{
		"MemoryLimit":                   "memoryLimit has no effect: Spark computes the limit from spark.executor.memory and spark.executor.memoryOverhead; set spark.executor.memoryOverhead",
		"TerminationGracePeriodSeconds": "terminationGracePeriodSeconds has no effect: Spark sets the period itself; set spark.kubernetes.executor.terminationGracePeriodSeconds",
	}
	for _, field := range Overwritten(d.r.SparkVersion, d.r.Executor) {
		if field == "MemoryLimit" && d.r.Admitted.Overlay.MemoryLimit != nil {
			continue
		}
		d.warn("%s%s", OverwrittenPrefix, messages[field])
	}
}
