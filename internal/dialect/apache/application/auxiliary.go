package application

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// AuxiliaryObjects returns the auxiliary objects of an application after Decide wrote its status: the Services,
// Ingresses and routes that the spec lists. They exist from the launch of an attempt until the attempt's objects are
// released. While the attempt's objects are retained, the operator neither creates nor changes auxiliary objects.
func (a Applications) AuxiliaryObjects(app *sparkv1.SparkApplication) dialect.AuxiliaryObjects {
	m := decodeMemory(&app.Status)
	switch {
	case app.DeletionTimestamp != nil, holdOf(app).Frozen, m.Phase == lifecycle.Ended, m.Phase == lifecycle.Retained, m.Phase.Live() && (m.Attempt < 1 || app.OutOfBounds != ""):
		return dialect.AuxiliaryObjects{Unsettled: true}
	case !m.Phase.Live():
		return dialect.AuxiliaryObjects{Record: recordExposed(app, dialect.Exposed{})}
	}

	exposed := dialect.Exposed{Live: true, Generation: app.Generation}

	exposed.Objects, exposed.Problems = a.auxiliaryObjects(app, m.Attempt)
	for _, object := range exposed.Objects {
		dialect.MarkContent(object)
	}
	return dialect.AuxiliaryObjects{Objects: exposed.Objects, Record: recordExposed(app, exposed)}
}

func recordExposed(app *sparkv1.SparkApplication, exposed dialect.Exposed) func([]lifecycle.AuxiliaryObject, time.Time) []dialect.Event {
	return func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
		return exposed.Record(&app.Status.Conditions, live, now)
	}
}

// auxiliaryObjects returns the objects that the spec's lists request, and a cause for each object that cannot be
// created. The lists are validated here again, because any edit of the spec is possible while the attempt runs.
func (a Applications) auxiliaryObjects(app *sparkv1.SparkApplication, attempt int32) (objects []submit.Object, wrong []lifecycle.Cause) {
	all := exposedEntries(&app.Spec)
	if len(all) == 0 {
		return nil, nil
	}

	selector := a.driverSelector(app, attempt)

	clashing, services := map[string][]*dialect.FieldError{}, map[string]bool{}
	for _, fault := range clashes(all, submit.ServiceName(appID(app, attempt), appID(app, attempt))) {
		clashing[fault.Field] = append(clashing[fault.Field], fault)
	}

	for _, d := range all {
		faults := slices.Concat(d.faults(), a.serviceFaults(d), clashing[d.field+".serviceMetadata.name"], clashing[d.field+"."+d.metaField+".name"])
		for _, fault := range faults {
			wrong = append(wrong, lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: fault.Error()})
		}

		if len(faults) > 0 {
			continue
		}

		service, port := a.service(app, attempt, d, selector)
		if !services[service.GetName()] {
			services[service.GetName()] = true
			objects = append(objects, service)
		}

		if wrong = append(wrong, a.typeProblems(d)...); !a.Outside {
			continue
		}

		if refused := a.exposureFaults(d); len(refused) > 0 {
			for _, fault := range refused {
				wrong = append(wrong, lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: fault.Error()})
			}
			continue
		}

		tree, _ := d.tree() // no error, because d.faults has parsed the same text before
		objects = append(objects, a.userObject(app, attempt, d.kind, d.meta, d.spec(tree, port)))
	}
	return objects, wrong
}

// typeProblems reports what a valid entry lacks if the operator's configuration does not allow objects that expose a
// driver outside the cluster. The Ingress or the route of the entry is then missing. If the entry requests a Service
// type that exposes the driver, the Service has the type ClusterIP instead.
func (a Applications) typeProblems(d exposedEntry) []lifecycle.Cause {
	if a.Outside {
		return nil
	}

	wrong := []lifecycle.Cause{{Reason: dialect.ReasonSwitchedOff, Message: fmt.Sprintf("%s: the operator creates no objects that expose a driver outside the cluster, "+
		"so there is no %s %s; %s, or create one yourself that leads to Service %s", d.field, d.kind.Kind, d.meta.Name, expose.EnableExposure, d.service.Name)}}
	if service, _, _ := podtemplate.As[corev1.ServiceSpec](dialect.RawBytes(d.serviceRaw)); !expose.IsInternal(service.Type) {
		wrong = append(wrong, lifecycle.Cause{Reason: dialect.ReasonSwitchedOff, Message: d.field + ".serviceSpec.type: " + expose.TypeNotAllowed(service.Type)})
	}
	return wrong
}

// service returns the Service of a valid entry. It also returns the number of the Service's first port, or 0 if the
// Service has no ports. The selector of the Service always selects the attempt's driver, because a selector of the user
// could expose pods of somebody else.
func (a Applications) service(app *sparkv1.SparkApplication, attempt int32, d exposedEntry, driver map[string]string) (*unstructured.Unstructured, int64) {
	data := dialect.RawBytes(d.serviceRaw)
	typed, _, _ := podtemplate.As[corev1.ServiceSpec](data)
	tree, _ := podtemplate.Decode(data)

	selector := map[string]any{}
	for label, value := range driver {
		selector[label] = value
	}

	tree["selector"] = selector
	if !a.Outside && !expose.IsInternal(typed.Type) {
		expose.MakeInternalTree(tree)
	}

	port := int64(0)
	if len(typed.Ports) > 0 {
		port = int64(typed.Ports[0].Port)
	}
	return a.userObject(app, attempt, expose.ServiceKind, d.service, tree), port
}

// driverSelector returns labels that only the driver of the attempt has. Usually these are the labels with which the
// Apache Spark project's operator selects a driver, including spark.app.id. If spark-submit creates the driver,
// spark-submit chooses this id, so driverSelector returns our own labels instead. The function has to render the
// attempt to determine whether the attempt needs spark-submit. Rendering is expensive, so callers compute the selector
// once for all entries.
func (a Applications) driverSelector(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	if _, submitter, _ := a.next(app, attempt, time.Time{}).Objects(); submitter != nil {
		return map[string]string{apache.LabelAppUID: string(app.UID), apache.LabelAttempt: strconv.Itoa(int(attempt)), submit.RoleLabel: submit.RoleDriver}
	}
	return map[string]string{apache.LabelAppName: app.Name, submit.SelectorLabel: appID(app, attempt), submit.RoleLabel: submit.RoleDriver}
}

// userObject returns an object with the user's metadata and spec, in the application's namespace and with the labels
// and the owner of the attempt's objects. A user's label spark-app-selector is dropped, because a driver that stops
// deletes the objects with this label.
func (a Applications) userObject(app *sparkv1.SparkApplication, attempt int32, kind schema.GroupVersionKind, meta sparkv1.ObjectMetadata, spec map[string]any) *unstructured.Unstructured {
	extra := maps.Clone(meta.Labels)
	delete(extra, submit.SelectorLabel)
	return expose.UserObject{
		Kind: kind, Namespace: app.Namespace, Name: meta.Name, Labels: a.attemptLabels(app, attempt), Extra: extra, Annotations: meta.Annotations,
		Owner: ownerReference(app), Spec: spec,
	}.Object()
}
