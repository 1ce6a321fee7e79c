package dialect

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceAccount identifies a Kubernetes service account by its namespace and name. The zero value identifies no
// account.
type ServiceAccount struct{ Namespace, Name string }

// NameIn returns the account's name if the account belongs to the given namespace, and "" otherwise.
func (a ServiceAccount) NameIn(namespace string) string {
	if namespace != a.Namespace {
		return ""
	}
	return a.Name
}

// Reject returns an error if a pod in the given namespace would use this service account. Callers use it for the
// operator's own account, which users' pods must not use. The error names the argument field as the field to correct.
func (a ServiceAccount) Reject(field, namespace string, pod *corev1.PodSpec) error {
	own := a.NameIn(namespace)
	if own == "" || cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default") != own {
		return nil
	}
	return &FieldError{Field: field, Message: submit.DeniedAccountMessage(own)}
}
