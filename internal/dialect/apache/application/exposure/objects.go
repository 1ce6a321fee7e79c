package exposure

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Settings are what the operator's configuration allows.
type Settings struct {
	// Outside allows objects that make drivers reachable from outside the cluster.
	Outside bool
	// Rules are the rules of the platform; nil if there are none.
	Rules dialect.Rules
}

// Driver is the driver of an attempt, to which the objects lead.
type Driver struct {
	Namespace string
	// Selector are labels that only this driver has.
	Selector map[string]string
	// Service is the name of the Service by which executors find the driver.
	Service string
	// Labels and Owner are those of all objects of the attempt.
	Labels map[string]string
	Owner  metav1.OwnerReference
}

// Objects returns the objects that the entries request, and a cause for each object that cannot be created. The entries
// are validated here again, because any edit of the spec is possible while the attempt runs.
func (s Settings) Objects(all []Entry, driver Driver) (objects []submit.Object, wrong []lifecycle.Cause) {
	clashing, services := map[string][]*dialect.FieldError{}, map[string]bool{}
	for _, fault := range Clashes(all, driver.Service) {
		clashing[fault.Field] = append(clashing[fault.Field], fault)
	}

	for _, d := range all {
		faults := slices.Concat(d.Faults(), s.serviceRuleFaults(d), clashing[d.field+".serviceMetadata.name"], clashing[d.field+"."+d.metaField+".name"])
		for _, fault := range faults {
			wrong = append(wrong, lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: fault.Error()})
		}

		if len(faults) > 0 {
			continue
		}

		service, port := s.driverService(d, driver)
		if !services[service.GetName()] {
			services[service.GetName()] = true
			objects = append(objects, service)
		}

		if wrong = append(wrong, s.switchedOff(d)...); !s.Outside {
			continue
		}

		if refused := s.RuleFaults(d); len(refused) > 0 {
			for _, fault := range refused {
				wrong = append(wrong, lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: fault.Error()})
			}
			continue
		}

		tree, _ := d.tree() // no error, because d.Faults has parsed the same text before
		objects = append(objects, driver.object(d.kind, d.meta, d.spec(tree, port)))
	}
	return objects, wrong
}

// switchedOff reports what a valid entry lacks if the operator's configuration does not allow objects that expose a
// driver outside the cluster. The Ingress or the route of the entry is then missing. If the entry requests a Service
// type that exposes the driver, the Service has the type ClusterIP instead.
func (s Settings) switchedOff(d Entry) []lifecycle.Cause {
	if s.Outside {
		return nil
	}

	wrong := []lifecycle.Cause{{Reason: dialect.ReasonSwitchedOff, Message: fmt.Sprintf("%s: the operator creates no objects that expose a driver outside the cluster, "+
		"so there is no %s %s; %s, or create one yourself that leads to Service %s", d.field, d.kind.Kind, d.meta.Name, expose.EnableExposure, d.service.Name)}}
	if service, _, _ := podtemplate.As[corev1.ServiceSpec](rawtemplate.Bytes(d.serviceRaw)); !expose.IsInternal(service.Type) {
		wrong = append(wrong, lifecycle.Cause{Reason: dialect.ReasonSwitchedOff, Message: d.field + ".serviceSpec.type: " + expose.TypeNotAllowed(service.Type)})
	}
	return wrong
}

// driverService returns the Service of a valid entry. It also returns the number of the Service's first port, or 0 if
// the Service has no ports. The selector of the Service always selects the attempt's driver, because a selector of the
// user could expose pods of somebody else.
func (s Settings) driverService(d Entry, driver Driver) (*unstructured.Unstructured, int64) {
	data := rawtemplate.Bytes(d.serviceRaw)
	typed, _, _ := podtemplate.As[corev1.ServiceSpec](data)
	tree, _ := podtemplate.Decode(data)

	selector := map[string]any{}
	for label, value := range driver.Selector {
		selector[label] = value
	}

	tree["selector"] = selector
	if !s.Outside && !expose.IsInternal(typed.Type) {
		expose.MakeInternalTree(tree)
	}

	port := int64(0)
	if len(typed.Ports) > 0 {
		port = int64(typed.Ports[0].Port)
	}
	return driver.object(expose.ServiceKind, d.service, tree), port
}

// object returns an object with the user's metadata and spec, in the application's namespace and with the labels and
// the owner of the attempt's objects. A user's label spark-app-selector is dropped, because a driver that stops deletes
// the objects with this label.
func (d Driver) object(kind schema.GroupVersionKind, meta sparkv1.ObjectMetadata, spec map[string]any) *unstructured.Unstructured {
	extra := maps.Clone(meta.Labels)
	delete(extra, submit.SelectorLabel)
	return expose.UserObject{
		Kind: kind, Namespace: d.Namespace, Name: meta.Name, Labels: d.Labels, Extra: extra, Annotations: meta.Annotations,
		Owner: d.Owner, Spec: spec,
	}.Object()
}
