// Package kinds lists the five kinds of custom resources, as far as they are known without a configuration. The
// operator, its webhook and sparkctl read this list. Package configured adds how the operator serves each kind.
package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// Kind describes one of the five kinds of custom resources.
type Kind struct {
	// Name is the short name by which users of sparkctl name the kind, such as "app".
	Name string
	schema.GroupVersionKind
	// Resource is the plural name of the kind in URLs and RBAC rules.
	Resource string
	// OtherVersions are the other served versions of the kind. They have the same schema, so one Go type represents all.
	OtherVersions []string

	empty func() client.Object
	list  func() client.ObjectList
}

// The five kinds.
var (
	SparkApplication = &Kind{
		Name: "app", GroupVersionKind: v1beta2.SchemeGroupVersion.WithKind("SparkApplication"), Resource: "sparkapplications",
		empty: func() client.Object { return &v1beta2.SparkApplication{} },
		list:  func() client.ObjectList { return &v1beta2.SparkApplicationList{} },
	}
	Schedule = &Kind{
		Name: "schedule", GroupVersionKind: v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"), Resource: "scheduledsparkapplications",
		empty: func() client.Object { return &v1beta2.ScheduledSparkApplication{} },
		list:  func() client.ObjectList { return &v1beta2.ScheduledSparkApplicationList{} },
	}
	SparkConnect = &Kind{
		Name: "connect", GroupVersionKind: v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"), Resource: "sparkconnects",
		empty: func() client.Object { return &v1alpha1.SparkConnect{} },
		list:  func() client.ObjectList { return &v1alpha1.SparkConnectList{} },
	}
	ApacheApplication = &Kind{
		Name: "apache-app", GroupVersionKind: sparkv1.SchemeGroupVersion.WithKind("SparkApplication"), Resource: "sparkapplications", OtherVersions: []string{"v1beta1"},
		empty: func() client.Object { return &sparkv1.SparkApplication{} },
		list:  func() client.ObjectList { return &sparkv1.SparkApplicationList{} },
	}
	SparkCluster = &Kind{
		Name: "cluster", GroupVersionKind: sparkv1.SchemeGroupVersion.WithKind("SparkCluster"), Resource: "sparkclusters", OtherVersions: []string{"v1beta1"},
		empty: func() client.Object { return &sparkv1.SparkCluster{} },
		list:  func() client.ObjectList { return &sparkv1.SparkClusterList{} },
	}
)

// All lists the five kinds, in the order of their display.
var All = []*Kind{SparkApplication, Schedule, SparkConnect, ApacheApplication, SparkCluster}

// Empty returns a new object of the kind without any field.
func (k *Kind) Empty() client.Object { return k.empty() }

// New returns a new object of the kind with only its API version and kind set.
func (k *Kind) New() client.Object {
	object := k.empty()
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return object
}

// NewList returns an empty list of objects of the kind.
func (k *Kind) NewList() client.ObjectList { return k.list() }

// FullName returns the name of the resource with its API group. RBAC rules and CustomResourceDefinitions use this form.
func (k *Kind) FullName() string { return k.Resource + "." + k.Group }

// Names returns the short names of the five kinds.
func Names() (names []string) {
	for _, k := range All {
		names = append(names, k.Name)
	}
	return names
}

// Named returns the kind with the given name. The name is the short name of the kind, such as "app", or the plural or
// singular name of its resource with the API group.
func Named(name string) (*Kind, error) {
	lower := strings.ToLower(name)
	for _, k := range All {
		singular := strings.ToLower(k.Kind)
		if slices.Contains([]string{k.Name, k.FullName(), singular + "." + k.Group}, lower) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown kind %q; the kinds are: %s", name, strings.Join(Names(), ", "))
}

var byType = func() map[reflect.Type]*Kind {
	types := map[reflect.Type]*Kind{}
	for _, k := range All {
		types[reflect.TypeOf(k.empty())] = k
	}
	return types
}()

// Of returns the kind of an object, or nil if the kind is not one of the five.
func Of(object client.Object) *Kind { return byType[reflect.TypeOf(object)] }

// Served returns the kind with a group, version and name, or nil if the operator does not serve it.
func Served(served schema.GroupVersionKind) *Kind {
	for _, k := range All {
		if k.GroupKind() == served.GroupKind() && (k.Version == served.Version || slices.Contains(k.OtherVersions, served.Version)) {
			return k
		}
	}
	return nil
}
