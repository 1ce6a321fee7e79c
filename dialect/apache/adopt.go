package apache

import (
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// Adopt returns those of the pods that the Java operator made for the application, each with the identity that its maker did not give it (in the copy
// that is returned alone). Candidates are pods without our labels that name the application (LabelAppName).
func (a Applications) Adopt(app *sparkv1.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	return nil
}
