package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// classAnnotation is the older way to choose the class of an Ingress.
const classAnnotation = "kubernetes.io/ingress.class"

// snippetAnnotations refuses each annotation that contains configuration of the proxy.
func (r *refusals) snippetAnnotations(asked *dialect.Exposing) {
	for _, key := range slices.Sorted(maps.Keys(asked.Annotations)) {
		if rawAnnotations.matches(key) {
			r.add(annotationField(asked, key), "a snippet, which can read the credentials of the ingress controller,", "policy.allowSnippetAnnotations",
				"remove the annotation, or ask for policy.allowSnippetAnnotations: true in the operator's configuration")
		}
	}
}

// exposure checks the hosts, the class and the annotations of an Ingress or route. Of a Service, only the hosts in its
// annotations are checked.
func (r *refusals) exposure(asked *dialect.Exposing) {
	s := r.set
	if s.hosts != nil {
		r.annotatedHosts(asked)

		for _, host := range asked.Hosts {
			switch {
			case host.Value == "" && !s.hosts.matches("*"):
				r.add(host.Field, "the "+asked.Kind+" for all hosts", "ingress.hosts", oneOf(*s.hosts, "remove the "+asked.Kind))
			case host.Value != "" && !s.hosts.matches(strings.ToLower(host.Value)):
				r.add(host.Field, "the host "+shown(host.Value), "ingress.hosts", oneOf(*s.hosts, "remove it"))
			}
		}
	}

	if asked.Kind == dialect.ServiceKind {
		return
	}

	class := asked.Class
	if older, ok := asked.Annotations[classAnnotation]; ok {
		r.class(annotationField(asked, classAnnotation), older)
	}

	r.class(class.Field, class.Value)

	if s.annotations != nil {
		for _, key := range slices.Sorted(maps.Keys(asked.Annotations)) {
			if key != classAnnotation && !s.annotations.matches(key) {
				r.add(annotationField(asked, key), "the annotation", "ingress.annotations", oneOf(*s.annotations, "remove it"))
			}
		}
	}
}

// class checks the class of an Ingress. An empty class is the default class.
func (r *refusals) class(field, class string) {
	if r.set.classes != nil && class != "" && !r.set.classes.matches(class) {
		r.add(field, "the Ingress class "+shown(class), "ingress.classes", oneOf(*r.set.classes, "remove it"))
	}
}
