package native

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/executor"
)

// finish builds the driver's ConfigMap and adds the Spark container to the pod, as Spark's client does after the steps
// (KubernetesClientApplication and KubernetesClientUtils). Then it applies the Request's overlay to the pod.
func finish(d *draft.Draft, executors *executor.Source) error {
	data, err := d.ConfFiles()
	if err != nil {
		return err
	}

	comment := []string{"Java properties built from Kubernetes config map with name: " + d.Request.ConfigMapName}
	if !d.Request.SubmitTime.IsZero() {
		comment = append(comment, d.Request.SubmitTime.UTC().Format("Mon Jan 02 15:04:05 UTC 2006"))
	}
	// Spark ignores the order of the keys. The keys are sorted so that a reader finds them easily.
	data[draft.PropertiesFile] = conf.MarshalProperties(d.Props.Sorted(), comment...)

	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: d.Request.ConfigMapName}}
	for _, file := range conf.SortedKeys(data) {
		source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file, Mode: new(int32(0o644))})
	}
	// Spark also puts the namespace into the data, under a key that no volume item names.
	data["spark.kubernetes.namespace"] = d.Request.Namespace
	if err := draft.CheckFiles("Conf", data); err != nil {
		return err
	}

	d.AddConfigMap(d.Request.ConfigMapName, data)
	d.Mount(corev1.Volume{Name: submit.ConfVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: draft.ConfDir})
	d.AddEnv("SPARK_CONF_DIR", draft.ConfDir)

	draft.SetPodDefaults(d.Pod, &d.Spark)
	d.Pod.APIVersion, d.Pod.Kind = "v1", "Pod"
	d.Pod.OwnerReferences = submit.Owners(d.Request.Owner)

	d.Pod.Spec.Containers = append(d.Pod.Spec.Containers, d.Spark)
	if err := draft.ApplyOverlay("Driver", d.Pod, d.Spark.Name, d.Request.Driver); err != nil {
		return err
	}

	maps.Copy(d.Pod.Labels, d.Request.Labels)

	if len(d.Pod.Spec.Containers) > 1 {
		if d.Pod.Annotations == nil {
			d.Pod.Annotations = map[string]string{}
		}

		if _, ok := d.Pod.Annotations[submit.DefaultContainerAnnotation]; !ok {
			d.Pod.Annotations[submit.DefaultContainerAnnotation] = d.Spark.Name
		}
	}

	if len(d.Extra) > 0 {
		if _, err := d.KeepExtra("DriverTemplate", d.Pod, d.Spark.Name, d.Extra, d.Request.Driver); err != nil {
			return err
		}
	}
	return checkPod(d, executors)
}

// checkPod rejects a driver pod that the API server would reject. Otherwise the API server would reject the pod only
// after all other objects are created.
func checkPod(d *draft.Draft, executors *executor.Source) error {
	if err := d.CheckVolumes("Driver", d.Pod, d.Request.Driver); err != nil {
		return err
	}

	controllers := 0
	for _, o := range d.Pod.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			controllers++
		}
	}

	if controllers > 1 {
		return submit.FieldErrorf("Driver.OwnerReferences", "the driver pod already has a controller; remove controller: true from the reference")
	}

	if err := checkExecutorVolumes(d, executors); err != nil {
		return err
	}
	return checkMounts(d)
}

// checkExecutorVolumes rejects volumes and mounts for which the API server would reject every executor. The driver
// would try again without end. Spark adds volumes to those of the template, so a whole executor is built if the
// template's volumes depend on that. Executor reports the fault.
func checkExecutorVolumes(d *draft.Draft, executors *executor.Source) error {
	if d.Executors == nil || !podtemplate.NeedsSparkVolumes(&d.Executors.Spec) {
		return nil
	}

	_, err := executors.Pod(1, "")
	if wrong, ok := errors.AsType[*submit.Error](err); ok && !wrong.NotNative {
		return wrong
	}
	return nil
}

func checkMounts(d *draft.Draft) error {
	for _, c := range d.Pod.Spec.Containers {
		paths := map[string]string{}
		for _, m := range c.VolumeMounts {
			path := strings.TrimRight(m.MountPath, "/")
			if other, ok := paths[path]; ok {
				return submit.FieldErrorf("Driver.VolumeMounts", "%s", fmt.Sprintf("volumes %q and %q are both mounted at %s of container %q; change one of the mount paths", other, m.Name, m.MountPath, c.Name))
			}

			paths[path] = m.Name
		}
	}
	return nil
}
