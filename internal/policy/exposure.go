package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/dialect"
)

// classAnnotation is the older way to choose the class of an Ingress.
const classAnnotation = "kubernetes.io/ingress.class"

// isSnippet reports whether an annotation contains configuration of the proxy, whatever prefix the controller uses:
// nginx.ingress.kubernetes.io/configuration-snippet, nginx.org/location-snippets.
func isSnippet(annotation string) bool {
	name := annotation[strings.LastIndexByte(annotation, '/')+1:]
	return strings.HasSuffix(name, "-snippet") || strings.HasSuffix(name, "-snippets")
}

// snippetAnnotations refuses each annotation of an Ingress or route that contains configuration of the proxy.
func (r *refusals) snippetAnnotations(asked *dialect.Exposing) {
	for _, key := range slices.Sorted(maps.Keys(asked.Annotations)) {
		if isSnippet(key) {
			r.add(asked.AnnotationsField+"["+key+"]", "a snippet, which can read the credentials of the ingress controller,", "policy.allowSnippetAnnotations",
				"remove the annotation, or ask for policy.allowSnippetAnnotations: true in the operator's configuration")
		}
	}
}

// exposure checks the hosts, the class and the annotations of an Ingress or route.
func (r *refusals) exposure(asked *dialect.Exposing) {
	s := r.set
	if s.hosts != nil {
		for _, host := range asked.Hosts {
			switch {
			case host.Value == "" && !s.hosts.matches("*"):
				r.add(host.Field, "the "+asked.Kind+" for all hosts", "ingress.hosts", oneOf(*s.hosts, "remove the "+asked.Kind))
			case host.Value != "" && !s.hosts.matches(strings.ToLower(host.Value)):
				r.add(host.Field, "the host "+shown(host.Value), "ingress.hosts", oneOf(*s.hosts, "remove it"))
			}
		}
	}
	class := asked.Class
	if older, ok := asked.Annotations[classAnnotation]; ok {
		r.class(asked.AnnotationsField+"["+classAnnotation+"]", older)
	}
	r.class(class.Field, class.Value)
	if s.annotations != nil {
		for _, key := range slices.Sorted(maps.Keys(asked.Annotations)) {
			if key != classAnnotation && !s.annotations.matches(key) {
				r.add(asked.AnnotationsField+"["+key+"]", "the annotation", "ingress.annotations", oneOf(*s.annotations, "remove it"))
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
