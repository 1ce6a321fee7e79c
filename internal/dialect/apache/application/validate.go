package application

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/exposure"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// quoted returns a user's text in the form in which messages show it.
func quoted(text string) string { return conf.Quote("", text) }

// validate returns the faults for which an application fails permanently, without another attempt: a wrong name (which
// no edit can change), a wrong deployment mode, wrong routes, and a spec that could not be decoded. Any other fault of
// a spec only rejects one attempt (Render), and the restart policy decides whether another attempt follows.
func validate(app *sparkv1.SparkApplication) []*dialect.FieldError {
	if wrong := dialect.OutOfBounds(app.OutOfBounds); wrong != nil {
		return wrong
	}

	wrong := dialect.CheckName(app.Name, "a Service", validation.DNS1035LabelMaxLength)
	if app.Spec.DeploymentMode == sparkv1.ClientMode {
		wrong = append(wrong, &dialect.FieldError{Field: "spec.deploymentMode",
			Message: "ClientMode is not supported, because the driver always runs in a pod of its own; use ClusterMode, or leave the field out"})
	}

	for _, d := range exposure.EntriesOf(&app.Spec) {
		if d.IsRoute() {
			wrong = append(wrong, d.Faults()...)
		}
	}
	return wrong
}

// refused returns faults that reject one attempt. It does not return the faults that other functions report: those of
// Validate, which fail the application permanently, and those that native.Build reports when it renders the attempt.
func (a Applications) refused(app *sparkv1.SparkApplication, attempt int32) (wrong []*dialect.FieldError) {
	all := exposure.EntriesOf(&app.Spec)
	for _, d := range all {
		if !d.IsRoute() {
			wrong = append(wrong, d.Faults()...)
		}
	}

	id := naming.ID(app, attempt)
	wrong = append(wrong, exposure.Clashes(all, submit.ServiceName(id, id))...)
	wrong = append(wrong, validConfigMaps(app, id)...)
	return append(wrong, validLabels(app)...)
}

// validConfigMaps returns an error for each fault in spec.configMapSpecs: an invalid name or key, a name that occurs
// twice, or the name of a ConfigMap that the attempt needs itself.
func validConfigMaps(app *sparkv1.SparkApplication, id string) (wrong []*dialect.FieldError) {
	taken := map[string]string{naming.ConfigMapName(id): "the driver's configuration", id + "-driver-podspec-conf-map": "the executors' pod template"}
	for i := range app.Spec.ConfigMapSpecs {
		spec := &app.Spec.ConfigMapSpecs[i]

		entry := fmt.Sprintf("spec.configMapSpecs[%d]", i)
		if problems := validation.IsDNS1123Subdomain(spec.Name); len(problems) > 0 {
			wrong = append(wrong, &dialect.FieldError{Field: entry + ".name", Message: fmt.Sprintf("%q is not a valid ConfigMap name: %s", spec.Name, strings.Join(problems, "; "))})
			continue
		}

		if other, ok := taken[spec.Name]; ok {
			wrong = append(wrong, &dialect.FieldError{Field: entry + ".name", Message: fmt.Sprintf("%q is also the name of %s; choose another name", spec.Name, other)})
		}

		taken[spec.Name] = entry
		for _, key := range conf.SortedKeys(spec.Data) {
			if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
				wrong = append(wrong, &dialect.FieldError{Field: fmt.Sprintf("%s.data[%s]", entry, key), Message: "is not a valid ConfigMap key: " + problems[0]})
			}
		}
	}
	return wrong
}

// tolerationWarnings returns a warning for each negative threshold, and for a retain policy without effect. Negative
// thresholds are accepted and count as 0, as with the Apache project's operator.
func tolerationWarnings(spec *sparkv1.ApplicationSpec) (warnings []string) {
	t := fields.Tolerations(spec)
	if policy := t.ResourceRetainPolicy; fields.Restarts(spec) && policy != "" && policy != sparkv1.RetainNever {
		warnings = append(warnings, fmt.Sprintf("spec.applicationTolerations.resourceRetainPolicy: %s has no effect, because an application that may restart keeps no objects; "+
			"set spec.applicationTolerations.restartConfig.restartPolicy to Never, or remove the field", policy))
	}

	instances := t.InstanceConfig
	for _, threshold := range []struct {
		name  string
		count *int64
	}{{"initExecutors", instances.InitExecutors}, {"minExecutors", instances.MinExecutors}, {"maxExecutors", instances.MaxExecutors}} {
		if threshold.count != nil && *threshold.count < 0 {
			warnings = append(warnings, fmt.Sprintf("spec.applicationTolerations.instanceConfig.%s: %d is negative and counts as 0", threshold.name, *threshold.count))
		}
	}
	return warnings
}

// validLabels returns an error for each of the operator's own labels that a user sets on an object of an attempt. The
// operator finds and deletes objects by these labels, so users must not set them. Auxiliary Services, Ingresses and
// routes are not checked, because the operator overwrites such labels on them.
func validLabels(app *sparkv1.SparkApplication) []*dialect.FieldError {
	wrong := dialect.ReservedConfLabels(app.Spec.SparkConf)
	for _, source := range []dialect.PodSource{Sources.Driver, Sources.Executor} {
		labels := rawtemplate.Pod(fields.Template(&app.Spec, source.Role)).Labels
		wrong = append(wrong, dialect.ReservedKeys(source.Template+".metadata.labels", "labels", conf.SortedKeys(labels))...)
	}

	for i := range app.Spec.ConfigMapSpecs {
		spec := &app.Spec.ConfigMapSpecs[i]
		field := fmt.Sprintf("spec.configMapSpecs[%d]", i)
		wrong = append(wrong, dialect.ReservedKeys(field+".labels", "labels", conf.SortedKeys(spec.Labels))...)
	}
	return wrong
}
