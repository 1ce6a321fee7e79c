package steps

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
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
func podTemplateStep(d *draft.Draft) error {
	const labels = "spark.kubernetes.executor.label."
	for key, value := range d.Conf.WithPrefix(labels) {
		// The driver would reject these labels when it runs. Markers such as "{{APP_ID}}" are valid, because the driver
		// replaces them.
		if err := draft.CheckLabel(key, withoutReferences.Replace(value)); err != nil {
			return submit.KeyErrorf(labels+key, "%v", err)
		}
	}

	for _, key := range conf.SortedKeys(d.Request.Labels) {
		d.Props.Set(labels+key, d.Request.Labels[key])
	}

	if !d.HasExecutorTemplate() {
		return nil
	}

	d.WarnOverwritten()

	text, err := draft.ExecutorTemplate(d)
	if err != nil {
		return err
	}

	name := names.Bounded("", d.Request.ResourceNamePrefix, "-driver-podspec-conf-map")

	if err := draft.CheckFiles("ExecutorTemplate", map[string]string{templateKey: text}); err != nil {
		return err
	}

	d.AddConfigMap(name, map[string]string{templateKey: text})
	d.Mount(corev1.Volume{Name: templateVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		Items:                []corev1.KeyToPath{{Key: templateKey, Path: templateFile}},
	}}}, corev1.VolumeMount{MountPath: templateDir})
	d.Props.Set("spark.kubernetes.executor.podTemplateFile", templateDir+"/"+templateFile)
	return nil
}
