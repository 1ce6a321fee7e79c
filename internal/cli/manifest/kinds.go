package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// served maps each version and kind that the operator serves to a function that returns an empty object. The versions
// v1beta1 and v1 of spark.apache.org have the same schema, so one Go type represents both.
var served = map[schema.GroupVersionKind]func() client.Object{
	v1beta2.SchemeGroupVersion.WithKind("SparkApplication"):          func() client.Object { return &v1beta2.SparkApplication{} },
	v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"): func() client.Object { return &v1beta2.ScheduledSparkApplication{} },
	v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"):             func() client.Object { return &v1alpha1.SparkConnect{} },
	sparkv1.SchemeGroupVersion.WithKind("SparkApplication"):          func() client.Object { return &sparkv1.SparkApplication{} },
	sparkv1.SchemeGroupVersion.WithKind("SparkCluster"):              func() client.Object { return &sparkv1.SparkCluster{} },
	{Group: sparkv1.SchemeGroupVersion.Group, Version: "v1beta1", Kind: "SparkApplication"}: func() client.Object {
		return &sparkv1.SparkApplication{}
	},
	{Group: sparkv1.SchemeGroupVersion.Group, Version: "v1beta1", Kind: "SparkCluster"}: func() client.Object {
		return &sparkv1.SparkCluster{}
	},
}

// Groups are the API groups of the operator.
var Groups = []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}

// Kind returns the version and the kind of a document, or the zero value if the document has none.
func (d *Document) Kind() schema.GroupVersionKind {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if utiljson.Unmarshal(d.JSON, &head) != nil {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
}

// Object decodes the document as the operator does. If the API group is not one of the operator's groups, Object
// returns nil and no error.
func (d *Document) Object() (client.Object, error) {
	kind := d.Kind()
	create, ok := served[kind]
	switch {
	case kind.Kind == "":
		return nil, &Fault{d.Place(""), "has no kind; a manifest begins with apiVersion and kind"}
	case !ok && !slices.Contains(Groups, kind.Group):
		return nil, nil
	case !ok:
		return nil, &Fault{d.Place("kind"), fmt.Sprintf("%s has no kind %s; the kinds are: %s", kind.GroupVersion(), kind.Kind, strings.Join(kindNames(), ", "))}
	}
	object := create()
	if err := utiljson.Unmarshal(d.JSON, object); err != nil {
		return nil, &Fault{d.Place(""), err.Error()}
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, nil
}

func kindNames() (names []string) {
	for kind := range served {
		names = append(names, kind.GroupVersion().String()+" "+kind.Kind)
	}
	slices.Sort(names)
	return names
}

// SpecOf returns a pointer to the spec of one of the operator's objects.
func SpecOf(object client.Object) any {
	return reflect.ValueOf(object).Elem().FieldByName("Spec").Addr().Interface()
}

// OutOfBounds returns why the spec of one of the operator's objects could not be read, or "" if the spec was read.
func OutOfBounds(object client.Object) string {
	return reflect.ValueOf(object).Elem().FieldByName("OutOfBounds").String()
}
