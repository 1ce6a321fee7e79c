package application

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// configMaps returns the ConfigMaps of spec.configMapSpecs. They are created before the driver, like the driver's own
// ConfigMap, and belong to the attempt. If a ConfigMap of somebody else has one of the names, the attempt is rejected
// and that ConfigMap does not change.
func (a Applications) configMaps(app *sparkv1.SparkApplication, attempt int32) []submit.Object {
	var objects []submit.Object
	for i := range app.Spec.ConfigMapSpecs {
		spec := &app.Spec.ConfigMapSpecs[i]
		labels := map[string]string{}
		maps.Copy(labels, spec.Labels)
		maps.Copy(labels, naming.Labels(app, attempt, a.OperatorName))
		objects = append(objects, &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: app.Namespace, Name: spec.Name, Labels: labels, Annotations: maps.Clone(spec.Annotations),
				OwnerReferences: []metav1.OwnerReference{naming.Owner(app)},
			},
			Data: maps.Clone(spec.Data),
		})
	}
	return objects
}
