package dialect

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceAccount is an account of pods. The zero value is none.
type ServiceAccount struct{ Namespace, Name string }

// In is the account's name in a namespace; empty where it is of another.
func (a ServiceAccount) In(namespace string) string {
	if namespace != a.Namespace {
		return ""
	}
	return a.Name
}

// Denies says why a pod of a namespace may not have the account that its spec names, which is this one; nil where it may.
func (a ServiceAccount) Denies(field, namespace string, pod *corev1.PodSpec) error {
	own := a.In(namespace)
	if own == "" || cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default") != own {
		return nil
	}
	return &FieldError{Field: field, Message: submit.DeniedAccount(own)}
}
