package exposure

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// RuleFaults returns the violations of the platform's rules by an entry's Service and its Ingress or route.
func (s Settings) RuleFaults(d Entry) []*dialect.FieldError {
	faults := s.serviceRuleFaults(d)
	if s.Rules != nil && s.Outside {
		faults = append(faults, s.Rules.ExposureFaults(d.exposing())...)
	}
	return faults
}

// serviceRuleFaults returns the violations of the platform's rules by an entry's Service.
func (s Settings) serviceRuleFaults(d Entry) []*dialect.FieldError {
	return dialect.ServiceFaults(s.Rules, d.field+".serviceMetadata.annotations", d.service.Annotations)
}

// exposing returns the parts of an Ingress or route to which the platform's rules apply.
func (d Entry) exposing() *dialect.Exposing {
	asked := &dialect.Exposing{Kind: d.kind.Kind, Annotations: d.meta.Annotations, AnnotationsField: d.field + "." + d.metaField + ".annotations"}

	spec := d.field + "." + d.specField
	if d.IsRoute() {
		tree, _ := d.tree() // the method Faults reports a spec that cannot be decoded

		hosts, _ := tree["hostnames"].([]any)
		for _, host := range hosts {
			text, _ := host.(string)
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: spec + ".hostnames", Value: text})
		}
		return asked
	}

	ingress, _, err := podtemplate.As[networkingv1.IngressSpec](rawtemplate.Bytes(d.raw))
	if err != nil || ingress == nil {
		ingress = &networkingv1.IngressSpec{}
	}

	if ingress.IngressClassName != nil {
		asked.Class = dialect.FieldValue{Field: spec + ".ingressClassName", Value: *ingress.IngressClassName}
	}

	for i := range ingress.Rules {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: fmt.Sprintf("%s.rules[%d].host", spec, i), Value: ingress.Rules[i].Host})
	}

	if len(ingress.Rules) == 0 || ingress.DefaultBackend != nil {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: spec}) // the default backend serves all hosts
	}

	for i := range ingress.TLS {
		for _, host := range ingress.TLS[i].Hosts {
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: fmt.Sprintf("%s.tls[%d].hosts", spec, i), Value: host})
		}
	}
	return asked
}
