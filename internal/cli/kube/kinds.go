package kube

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Kind describes one of the five kinds of custom resources.
type Kind struct {
	// Name is the short name by which users name the kind, such as "app".
	Name string
	schema.GroupVersionKind
	// Resource is the plural name of the kind in URLs and RBAC rules.
	Resource string
	// Stops is true if spec.suspend stops a running object of the kind. All kinds have the field.
	Stops  bool
	create func() client.Object
	list   func() client.ObjectList
}

// Kinds are the five kinds, in the order of their display.
var Kinds = []Kind{
	{"app", v1beta2.SchemeGroupVersion.WithKind("SparkApplication"), "sparkapplications", true,
		func() client.Object { return &v1beta2.SparkApplication{} }, func() client.ObjectList { return &v1beta2.SparkApplicationList{} }},
	{"schedule", v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"), "scheduledsparkapplications", true,
		func() client.Object { return &v1beta2.ScheduledSparkApplication{} }, func() client.ObjectList { return &v1beta2.ScheduledSparkApplicationList{} }},
	{"connect", v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"), "sparkconnects", true,
		func() client.Object { return &v1alpha1.SparkConnect{} }, func() client.ObjectList { return &v1alpha1.SparkConnectList{} }},
	{"apache-app", sparkv1.SchemeGroupVersion.WithKind("SparkApplication"), "sparkapplications", false,
		func() client.Object { return &sparkv1.SparkApplication{} }, func() client.ObjectList { return &sparkv1.SparkApplicationList{} }},
	{"cluster", sparkv1.SchemeGroupVersion.WithKind("SparkCluster"), "sparkclusters", false,
		func() client.Object { return &sparkv1.SparkCluster{} }, func() client.ObjectList { return &sparkv1.SparkClusterList{} }},
}

// New returns a new object of the kind with only its API version and kind set.
func (k *Kind) New() client.Object {
	object := k.create()
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return object
}

// FullName returns the name of the resource with its API group. RBAC rules and CustomResourceDefinitions use this form.
func (k *Kind) FullName() string { return k.Resource + "." + k.Group }

// KindNames returns the short names of the five kinds.
func KindNames() (names []string) {
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// KindNamed returns the kind with the given name. The name is the short name of the kind, such as "app", or the plural
// or singular name of its resource with the API group.
func KindNamed(name string) (*Kind, error) {
	lower := strings.ToLower(name)
	for i := range Kinds {
		k := &Kinds[i]

		singular := strings.ToLower(k.Kind)
		if slices.Contains([]string{k.Name, k.FullName(), singular + "." + k.Group}, lower) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown kind %q; the kinds are: %s", name, strings.Join(KindNames(), ", "))
}

// KindOf returns the kind of an object, or nil if the kind is not one of the five.
func KindOf(object client.Object) *Kind {
	for i := range Kinds {
		if reflect.TypeOf(Kinds[i].create()) == reflect.TypeOf(object) {
			return &Kinds[i]
		}
	}
	return nil
}

// Hint returns the command that runs a verb of this program for an object.
func Hint(verb string, object client.Object) terminal.Command {
	return terminal.Hint(verb+" %s/%s -n %s", KindOf(object).Name, object.GetName(), object.GetNamespace())
}

// Hint returns the command that runs a verb of this program for the object.
func (s *Summary) Hint(verb string) terminal.Command {
	return terminal.Hint(verb+" %s/%s -n %s", s.Kind.Name, s.Name, s.Namespace)
}

// newScheme returns a scheme with the types that the program reads.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1beta2.AddToScheme, v1alpha1.AddToScheme, sparkv1.AddToScheme} {
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
	for _, k := range Kinds {
		mapper.AddSpecific(k.GroupVersionKind, k.GroupVersion().WithResource(k.Resource), k.GroupVersion().WithResource(strings.ToLower(k.Kind)), meta.RESTScopeNamespace)
	}

	for kind, resource := range map[string]string{"Pod": "pods", "Event": "events", "ConfigMap": "configmaps", "Secret": "secrets"} {
		mapper.AddSpecific(corev1.SchemeGroupVersion.WithKind(kind), corev1.SchemeGroupVersion.WithResource(resource), corev1.SchemeGroupVersion.WithResource(resource), meta.RESTScopeNamespace)
	}
	return mapper
}
