package dialect

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceAccount identifies a Kubernetes service account by its namespace and name. The zero value identifies no
// account.
type ServiceAccount struct{ Namespace, Name string }

// NameIn returns the account's name if pods of the given namespace can use the account, which is possible only in the
// account's own namespace. For other namespaces it returns "".
func (a ServiceAccount) NameIn(namespace string) string {
	if namespace != a.Namespace {
		return ""
	}
	return a.Name
}

// Reject returns an error if a pod in the given namespace would use this service account. Callers use it for the
// operator's own account, which users' pods must not use. The argument `field` is the path of the field that the user
// has to correct. The error contains this path.
func (a ServiceAccount) Reject(field, namespace string, pod *corev1.PodSpec) error {
	own := a.NameIn(namespace)
	if own == "" || cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default") != own {
		return nil
	}
	return &FieldError{Field: field, Message: submit.DeniedAccountMessage(own)}
}
