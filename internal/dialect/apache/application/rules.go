package application

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Sources are the fields with the pods of an application.
var Sources = dialect.Sources("spec.driverSpec", "spec.executorSpec", "podTemplateSpec")

// exposureFaults returns the violations of the platform's rules by an entry's Service and its Ingress or route.
func (a Applications) exposureFaults(d exposedEntry) []*dialect.FieldError {
	faults := a.serviceFaults(d)
	if a.Rules != nil && a.Outside {
		faults = append(faults, a.Rules.ExposureFaults(d.exposing())...)
	}
	return faults
}

// serviceFaults returns the violations of the platform's rules by an entry's Service.
func (a Applications) serviceFaults(d exposedEntry) []*dialect.FieldError {
	return dialect.ServiceFaults(a.Rules, d.field+".serviceMetadata.annotations", d.service.Annotations)
}

// exposing returns the parts of an Ingress or route to which the platform's rules apply.
func (d exposedEntry) exposing() *dialect.Exposing {
	asked := &dialect.Exposing{Kind: d.kind.Kind, Annotations: d.meta.Annotations, AnnotationsField: d.field + "." + d.metaField + ".annotations"}

	spec := d.field + "." + d.specField
	if d.isRoute() {
		tree, _ := d.tree() // the method faults reports a spec that cannot be decoded

		hosts, _ := tree["hostnames"].([]any)
		for _, host := range hosts {
			text, _ := host.(string)
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: spec + ".hostnames", Value: text})
		}
		return asked
	}

	ingress, _, err := podtemplate.As[networkingv1.IngressSpec](dialect.RawBytes(d.raw))
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

// imageField returns the field that sets the image of a role's Spark container.
func imageField(app *sparkv1.SparkApplication, role string) string {
	for _, key := range []string{"spark.kubernetes." + role + ".container.image", "spark.kubernetes.container.image"} {
		if _, written := app.Spec.SparkConf[key]; written {
			return "spec.sparkConf[" + key + "]"
		}
	}
	return "spec." + role + "Spec.podTemplateSpec"
}

// accountField returns the field that sets the service account of a role's pods. For an executor, this may be the
// driver's key, which also overrides the field serviceAccountName of the executor's template. Only the deprecated field
// serviceAccount of this template precedes both keys (see native.Executor).
func accountField(app *sparkv1.SparkApplication, role string) string {
	part, keys := app.Spec.DriverSpec, []string{"spark.kubernetes.authenticate." + role + ".serviceAccountName"}
	if role == "executor" {
		part, keys = app.Spec.ExecutorSpec, append(keys, "spark.kubernetes.authenticate.driver.serviceAccountName")
	}

	var template corev1.PodTemplateSpec
	if part != nil {
		template = dialect.PodTemplate(part.PodTemplateSpec)
	}

	if role == "driver" || template.Spec.DeprecatedServiceAccount == "" {
		for _, key := range keys {
			if _, written := app.Spec.SparkConf[key]; written {
				return "spec.sparkConf[" + key + "]"
			}
		}
	}
	return dialect.TemplateAccountField("spec."+role+"Spec.podTemplateSpec", &template.Spec)
}
