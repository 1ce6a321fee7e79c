package dialect

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceAccount is the name of a pod's service account in a namespace. The zero value names none.
type ServiceAccount struct{ Namespace, Name string }

// NameIn returns the account's name if the account is in the namespace, and "" otherwise.
func (a ServiceAccount) NameIn(namespace string) string {
	if namespace != a.Namespace {
		return ""
	}
	return a.Name
}

// Reject returns an error if a pod in the namespace would use this service account, and nil otherwise. The account is
// the operator's own, which users' pods must not use.
func (a ServiceAccount) Reject(field, namespace string, pod *corev1.PodSpec) error {
	own := a.NameIn(namespace)
	if own == "" || cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default") != own {
		return nil
	}
	return &FieldError{Field: field, Message: submit.DeniedAccountMessage(own)}
}
