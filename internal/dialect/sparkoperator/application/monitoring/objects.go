package monitoring

import (
	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// configMapName returns the name of the metrics ConfigMap, which is the same for every attempt.
func configMapName(app *v1beta2.SparkApplication) string { return app.Name + configMapSuffix }

// ConfigMap returns the metrics ConfigMap of an attempt, which is created before its driver or runner pod, or nil
// if no process would read its files.
func ConfigMap(app *v1beta2.SparkApplication, attempt int32, id string) submit.Object {
	files := settingsOf(&app.Spec).files
	if files == nil {
		return nil
	}
	return expose.MetricsConfigMap(expose.Metrics{
		Meta:  expose.Meta{Namespace: app.Namespace, Name: configMapName(app), Labels: naming.AuxiliaryLabels(app, attempt, id), Owner: naming.Owner(app)},
		Files: files,
	})
}

// Overlay mounts the files of the metrics ConfigMap and declares the exporter's port. The pods of both roles
// get the files, even if only one role exposes metrics: both have the path in their configuration, and Spark logs an
// error if the file is missing.
func Overlay(o *overlay.Overlay, app *v1beta2.SparkApplication, role string) {
	m := settingsOf(&app.Spec)
	if m.files != nil {
		o.ConfigMaps = append(o.ConfigMaps, overlay.ConfigMap{Name: configMapName(app), Path: configMapDir})
	}

	if m.runsAgent(role) {
		o.Ports = append(o.Ports, corev1.ContainerPort{Name: m.portName, Protocol: corev1.ProtocolTCP, ContainerPort: m.port})
	}
}

// ExecutorPorts returns the ports at which Prometheus scrapes executors.
func ExecutorPorts(spec *v1beta2.SparkApplicationSpec) []int32 {
	if m := settingsOf(spec); m.runsAgent("executor") {
		return []int32{m.port}
	}
	return nil
}

// MountPath returns the path at which the pods have the files of the metrics ConfigMap, or "" if there is none.
func MountPath(spec *v1beta2.SparkApplicationSpec) string {
	if settingsOf(spec).files == nil {
		return ""
	}
	return configMapDir
}
