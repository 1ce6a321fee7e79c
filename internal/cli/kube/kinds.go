package kube

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Title returns the kind and the name of an object, for use in messages.
func Title(object client.Object) string {
	return bounds.Line(fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName()))
}

// Hint returns the command that runs a verb of this program for an object.
func Hint(verb string, object client.Object) terminal.Command {
	return terminal.Hint(verb+" %s/%s -n %s", kinds.Of(object).Name, object.GetName(), object.GetNamespace())
}

// Hint returns the command that runs a verb of this program for the object.
func (s *Summary) Hint(verb string) terminal.Command {
	return terminal.Hint(verb+" %s/%s -n %s", s.Kind.Name, s.Name, s.Namespace)
}

// newScheme returns a scheme with the types that the program reads.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme, v1alpha1.AddToScheme, sparkv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// newMapper returns a mapper that already contains the resources that the program uses, so that the program sends no
// discovery requests.
func newMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range kinds.All {
		mapper.AddSpecific(k.GroupVersionKind, k.GroupVersion().WithResource(k.Resource), k.GroupVersion().WithResource(strings.ToLower(k.Kind)), meta.RESTScopeNamespace)
	}

	for version, names := range map[schema.GroupVersion][]string{
		corev1.SchemeGroupVersion: {"Pod", "Event", "ConfigMap", "Secret", "Service", "ServiceAccount"}, appsv1.SchemeGroupVersion: {"Deployment"},
		coordinationv1.SchemeGroupVersion: {"Lease"}, discoveryv1.SchemeGroupVersion: {"EndpointSlice"}, authorizationv1.SchemeGroupVersion: {"LocalSubjectAccessReview"},
	} {
		for _, name := range names {
			mapper.Add(version.WithKind(name), meta.RESTScopeNamespace)
		}
	}

	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)

	for _, name := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		mapper.Add(admissionregistrationv1.SchemeGroupVersion.WithKind(name), meta.RESTScopeRoot)
	}
	return mapper
}
