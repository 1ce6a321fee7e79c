package specification

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// DriverOverlay returns the settings of the driver pod that Spark's configuration cannot express.
func DriverOverlay(app *v1beta2.SparkApplication) (overlay.Overlay, error) {
	driver := &app.Spec.Driver

	o, err := podOverlay(app, "driver", &driver.SparkPodSpec)
	if err != nil {
		return o, err
	}

	o.Lifecycle, o.PriorityClassName = driver.Lifecycle, sparkoperator.StringValue(driver.PriorityClassName)
	return o, nil
}

// ExecutorOverlay returns the settings that are applied to the template from which Spark creates executors. It leaves
// out the fields for which envConf sets a configuration key, because Spark would override these fields.
//
// The settings contain an owner reference to the application, by which Kueue finds the executors. The reference is not
// a controller reference. It would keep the executors alive after their driver is gone, but the operator deletes them
// when the attempt ends.
func ExecutorOverlay(app *v1beta2.SparkApplication) (overlay.Overlay, error) {
	executor := &app.Spec.Executor

	o, err := podOverlay(app, "executor", &executor.SparkPodSpec)
	if err != nil {
		return o, err
	}

	o.Lifecycle, o.PriorityClassName = executor.Lifecycle, sparkoperator.StringValue(executor.PriorityClassName)
	owner := naming.Owner(app)
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	o.OwnerReferences = []metav1.OwnerReference{owner}

	o.EnableServiceLinks = new(false)
	if slices.Contains(submit.Overwritten(app.Spec.SparkVersion, o), "TerminationGracePeriodSeconds") {
		o.TerminationGracePeriodSeconds = nil
	}
	return o, nil
}

// podOverlay returns the settings that driver and executor have in common. Node selectors and the scheduler's name are
// not among them: fields.Application sets configuration keys for them, which Spark applies over a template.
func podOverlay(app *v1beta2.SparkApplication, role string, pod *v1beta2.SparkPodSpec) (overlay.Overlay, error) {
	o := overlay.Overlay{
		Env: pod.Env, EnvFrom: pod.EnvFrom, Ports: declaredPorts(&app.Spec, role),
		HadoopConfigMap: sparkoperator.StringValue(app.Spec.HadoopConfigMap), SparkConfigMap: sparkoperator.StringValue(app.Spec.SparkConfigMap),
		HostNetwork: pod.HostNetwork != nil && *pod.HostNetwork, HostAliases: pod.HostAliases, DNSConfig: pod.DNSConfig,
		InitContainers: pod.InitContainers, Sidecars: pod.Sidecars,
		Affinity: pod.Affinity, Tolerations: pod.Tolerations,
		SecurityContext: pod.SecurityContext, PodSecurityContext: pod.PodSecurityContext,
		TerminationGracePeriodSeconds: pod.TerminationGracePeriodSeconds,
		ShareProcessNamespace:         pod.ShareProcessNamespace != nil && *pod.ShareProcessNamespace,
	}
	for _, config := range pod.ConfigMaps {
		o.ConfigMaps = append(o.ConfigMaps, overlay.ConfigMap{Name: config.Name, Path: config.Path})
	}

	if pod.GPU != nil {
		o.GPU = overlay.GPU{Name: pod.GPU.Name, Quantity: pod.GPU.Quantity}
	}

	if pod.MemoryLimit != nil {
		limit, err := fields.MemoryQuantity(*pod.MemoryLimit)
		if err != nil {
			return o, &dialect.FieldError{Field: "spec." + role + ".memoryLimit", Message: err.Error()}
		}

		o.MemoryLimit = &limit
	}

	mounts(&o, app.Spec.Volumes, pod)
	monitoring.Overlay(&o, app, role)
	return o, nil
}

func declaredPorts(spec *v1beta2.SparkApplicationSpec, role string) []corev1.ContainerPort {
	in := spec.Executor.Ports
	if role == "driver" {
		in = spec.Driver.Ports
	}

	var out []corev1.ContainerPort
	for _, p := range in {
		out = append(out, corev1.ContainerPort{Name: p.Name, Protocol: corev1.Protocol(p.Protocol), ContainerPort: p.ContainerPort})
	}
	return out
}
