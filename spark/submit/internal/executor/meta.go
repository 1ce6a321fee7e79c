package executor

import (
	"maps"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// withIDs replaces the markers {{APP_ID}} and {{EXECUTOR_ID}} by the IDs of the application and the executor. Most
// texts have no marker, and a replacer costs more than all of them.
func (e *execution) withIDs(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return strings.NewReplacer("{{APP_ID}}", e.Request.AppID, "{{EXECUTOR_ID}}", e.id).Replace(text)
}

// executorMeta sets the pod's name, labels, annotations and owner (KubernetesExecutorConf).
func executorMeta(e *execution) error {
	pod := e.Pod

	pod.Name, pod.Namespace = e.name, e.Request.Namespace
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}

	for key, value := range e.Conf.WithPrefix("spark.kubernetes.executor.label.") {
		if e.Line.AppIDInLabels {
			value = e.withIDs(value)
		}

		pod.Labels[key] = value
	}

	maps.Copy(pod.Labels, map[string]string{
		submit.VersionLabel: line.Label(e.Request.SparkVersion, e.Line), submit.SelectorLabel: e.Request.AppID, submit.AppNameKey: submit.AppNameLabel(e.Request.AppName),
		submit.RoleLabel: submit.RoleExecutor, submit.ExecutorIDLabel: e.id, profileLabel: defaultProfile,
	})

	for key, value := range e.Conf.WithPrefix("spark.kubernetes.executor.annotation.") {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}

		pod.Annotations[key] = e.withIDs(value)
	}

	if e.driver != "" {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: e.Request.DriverPodName, UID: e.driver, Controller: new(true),
		})
	}

	pod.Spec.Hostname = hostname(pod.Name)
	return nil
}

var (
	hostnameStart = regexp.MustCompile(`^[^0-9A-Za-z_]+`)
	hostnameOther = regexp.MustCompile(`[^0-9A-Za-z_-]+`)
)

// hostname returns the host name of the executor whose pod has this name. It keeps the end of a long name, because the
// end contains the executor's ID, and replaces characters that a host name cannot have.
func hostname(name string) string {
	name = name[max(0, len(name)-validation.LabelValueMaxLength):]
	return hostnameOther.ReplaceAllString(hostnameStart.ReplaceAllString(name, ""), "_")
}

// executorLife sets the pod's restart policy and grace period and the container's preStop hook.
func executorLife(e *execution) error {
	e.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever

	allocator, err := e.Conf.String("spark.kubernetes.allocation.pods.allocator", "direct")
	if err != nil {
		return err
	}

	if allocator == "statefulset" || allocator == "deployment" {
		e.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}

	if e.Line.ExecutorGrace {
		grace, err := e.Conf.Duration(graceKey, 30*time.Second, time.Second)
		if err != nil {
			return err
		}

		e.Pod.Spec.TerminationGracePeriodSeconds = new(int64(grace / time.Second))
	}

	if decommission, err := e.Conf.Bool("spark.decommission.enabled", false); err != nil || !decommission {
		return err
	}

	script, err := e.Conf.String(scriptKey, "/opt/decom.sh")
	e.Spark.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{script}}}}
	return err
}

// executorConfigMap mounts the ConfigMap that the driver creates from its own configuration files.
func executorConfigMap(e *execution) error {
	without, err := e.Conf.Bool("spark.kubernetes.executor.disableConfigMap", false)
	if err != nil || without {
		return err
	}

	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
		Name: "spark-exec-" + names.Digest("executors/"+e.Request.AppID, 16) + "-conf-map",
	}}
	for _, file := range e.files {
		source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file, Mode: new(int32(0o644))})
	}

	e.Mount(corev1.Volume{Name: executorVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: draft.ConfDir})
	return nil
}
