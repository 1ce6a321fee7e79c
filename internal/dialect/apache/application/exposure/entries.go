// Package exposure describes the objects that lead to the driver of a SparkApplication of spark.apache.org: the
// Services, Ingresses and routes of spec.driverServiceIngressList, driverHttpRouteList and driverGrpcRouteList. It
// finds the faults of the lists' entries (entries.go), applies the platform's rules to them (rules.go), and builds the
// objects (objects.go).
package exposure

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Entry is an entry of driverServiceIngressList, driverHttpRouteList or driverGrpcRouteList. It requests a
// Service of the driver, and an Ingress or route that leads to this Service.
type Entry struct {
	// kind is the kind of the Ingress or route that leads to the Service.
	kind schema.GroupVersionKind
	// field is the path of the entry, such as spec.driverHttpRouteList[0]; metaField and specField are paths below it.
	field, metaField, specField string
	service, meta               sparkv1.ObjectMetadata
	serviceRaw, raw             *runtime.RawExtension
}

// EntriesOf returns the entries of the three lists.
func EntriesOf(spec *sparkv1.ApplicationSpec) []Entry {
	var all []Entry
	for i := range spec.DriverServiceIngressList {
		e := &spec.DriverServiceIngressList[i]
		all = append(all, Entry{expose.IngressKind, fmt.Sprintf("spec.driverServiceIngressList[%d]", i), "ingressMetadata", "ingressSpec",
			e.ServiceMetadata, e.IngressMetadata, e.ServiceSpec, e.IngressSpec})
	}

	for i := range spec.DriverHTTPRouteList {
		e := &spec.DriverHTTPRouteList[i]
		all = append(all, Entry{expose.RouteKind, fmt.Sprintf("spec.driverHttpRouteList[%d]", i), "httpRouteMetadata", "httpRouteSpec",
			e.ServiceMetadata, e.HTTPRouteMetadata, e.ServiceSpec, e.HTTPRouteSpec})
	}

	for i := range spec.DriverGRPCRouteList {
		e := &spec.DriverGRPCRouteList[i]
		all = append(all, Entry{expose.GRPCRouteKind, fmt.Sprintf("spec.driverGrpcRouteList[%d]", i), "grpcRouteMetadata", "grpcRouteSpec",
			e.ServiceMetadata, e.GRPCRouteMetadata, e.ServiceSpec, e.GRPCRouteSpec})
	}
	return all
}

// IsRoute reports whether the entry has a route of the Gateway API, and not an Ingress.
func (d Entry) IsRoute() bool { return d.kind.Group == expose.RouteKind.Group }

func (d Entry) fault(field, format string, args ...any) *dialect.FieldError {
	return &dialect.FieldError{Field: d.field + "." + field, Message: fmt.Sprintf(format, args...)}
}

// Faults returns the faults that prevent the creation of the entry's Service and of its Ingress or route.
func (d Entry) Faults() (wrong []*dialect.FieldError) {
	if problems := validation.IsDNS1035Label(d.service.Name); len(problems) > 0 {
		wrong = append(wrong, d.fault("serviceMetadata.name", "%q is not a valid Service name: %s", d.service.Name, strings.Join(problems, "; ")))
	}

	if problems := validation.IsDNS1123Subdomain(d.meta.Name); len(problems) > 0 {
		wrong = append(wrong, d.fault(d.metaField+".name", "%q is not a valid %s name: %s", d.meta.Name, d.kind.Kind, strings.Join(problems, "; ")))
	}

	wrong = append(wrong, d.serviceFaults()...)

	tree, err := d.tree()
	if err != nil {
		return append(wrong, d.fault(d.specField, "%v", err))
	}

	if d.IsRoute() {
		wrong = append(wrong, d.parentFaults(tree)...)
	}
	return wrong
}

// serviceFaults returns the faults of the Service's spec.
func (d Entry) serviceFaults() []*dialect.FieldError {
	data := rawtemplate.Bytes(d.serviceRaw)
	if len(data) == 0 {
		return []*dialect.FieldError{d.fault("serviceSpec", "is missing; name the driver's port at least, such as {ports: [{port: 4040}]}")}
	}

	service, _, err := podtemplate.As[corev1.ServiceSpec](data)
	if err != nil {
		return []*dialect.FieldError{d.fault("serviceSpec", "%v", err)}
	}

	if name, why := expose.ServiceFault(service); name != "" {
		return []*dialect.FieldError{d.fault("serviceSpec."+name, "%s", why)}
	}

	if tree, err := d.tree(); err == nil && d.lacksRule(tree) && len(service.Ports) == 0 {
		return []*dialect.FieldError{d.fault("serviceSpec.ports",
			"is empty, and %s.%s has no rules, so there is no target; name a port", d.field, d.specField)}
	}
	return nil
}

// parentFaults returns the faults of a route's parentRefs. A route without a parent belongs to no Gateway.
func (d Entry) parentFaults(tree map[string]any) (wrong []*dialect.FieldError) {
	parents, _ := tree["parentRefs"].([]any)
	if len(parents) == 0 {
		return []*dialect.FieldError{d.fault(d.specField+".parentRefs", "is empty: the route would be attached to no Gateway; name a Gateway")}
	}

	for i, parent := range parents {
		fields, _ := parent.(map[string]any)
		if name, _ := fields["name"].(string); name == "" {
			wrong = append(wrong, d.fault(fmt.Sprintf("%s.parentRefs[%d].name", d.specField, i), "is missing; name a Gateway"))
		}
	}
	return wrong
}

// tree returns the spec of the Ingress or route as a JSON tree, including fields that the operator does not know.
func (d Entry) tree() (map[string]any, error) {
	data := rawtemplate.Bytes(d.raw)
	if len(data) == 0 {
		return map[string]any{}, nil
	}

	if !d.IsRoute() {
		if _, _, err := podtemplate.As[networkingv1.IngressSpec](data); err != nil {
			return nil, err
		}
	}

	tree, err := podtemplate.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return tree, nil
}

// lacksRule reports whether the spec of the Ingress or route names no backend, neither in a rule nor, for an Ingress,
// as the default backend.
func (d Entry) lacksRule(tree map[string]any) bool {
	rules, _ := tree["rules"].([]any)
	return len(rules) == 0 && (d.IsRoute() || tree["defaultBackend"] == nil)
}

// spec returns the spec of the Ingress or route. If the user's spec names no backend, spec adds a rule that leads to
// the Service's first port.
func (d Entry) spec(tree map[string]any, port int64) map[string]any {
	if !d.lacksRule(tree) {
		return tree
	}

	rule := expose.IngressRule(d.service.Name, port)
	switch d.kind {
	case expose.RouteKind:
		rule = expose.HTTPRouteRule("/", d.service.Name, port)
	case expose.GRPCRouteKind:
		rule = expose.GRPCRouteRule(d.service.Name, port)
	}
	return expose.WithRule(tree, rule)
}

// Clashes returns an error for each entry whose Service, Ingress or route has a name that is already taken. The name is
// taken if an earlier entry uses it for an object of the same kind. A Service's name is also taken if it equals
// driverService, the name of the Service by which executors find the driver. Several entries may use one Service if all
// of them describe it in the same way.
func Clashes(all []Entry, driverService string) (wrong []*dialect.FieldError) {
	services, others := map[string]*namedService{}, map[string]Entry{}
	for _, d := range all {
		first, taken := services[d.service.Name]
		switch {
		case d.service.Name == "":
		case d.service.Name == driverService:
			wrong = append(wrong, d.fault("serviceMetadata.name", "%q is the Service by which executors find the driver; choose another name", d.service.Name))
		case taken && !first.same(d):
			wrong = append(wrong, d.fault("serviceMetadata.name", "%q is also the name of %s, but the two entries describe the Service differently; choose another name, or use the same settings", d.service.Name, first.field))
		case !taken:
			services[d.service.Name] = &namedService{Entry: d}
		}

		key := d.kind.Kind + "/" + d.meta.Name
		if first, taken := others[key]; taken && d.meta.Name != "" {
			wrong = append(wrong, d.fault(d.metaField+".name", "%q is also the name of %s; choose another name", d.meta.Name, first.field))
		}

		others[key] = d
	}
	return wrong
}

// namedService is the first entry that uses a Service's name. It caches the decoded spec of the Service, so that the
// spec is decoded only once even if many entries use this name.
type namedService struct {
	Entry
	read bool
	spec map[string]any
	err  error
}

func (s *namedService) same(d Entry) bool {
	if !s.read {
		s.read = true
		s.spec, s.err = podtemplate.Decode(rawtemplate.Bytes(s.serviceRaw))
	}

	other, err := podtemplate.Decode(rawtemplate.Bytes(d.serviceRaw))
	return s.err == nil && err == nil && reflect.DeepEqual(s.spec, other) &&
		maps.Equal(s.service.Labels, d.service.Labels) && maps.Equal(s.service.Annotations, d.service.Annotations)
}
