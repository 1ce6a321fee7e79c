// Package validate finds faults in the spec of a SparkApplication that prevent it from running, and settings without
// effect. It needs no cluster and no launch; package submit finds further faults when it builds the pods.
package validate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// rule checks one aspect of an application.
type rule func(*v1beta2.SparkApplication) []*dialect.FieldError

// rules contains all checks of Spec, in the order of the fields.
var rules = []rule{
	validName,
	SparkConf,
	validNodeSelectors,
	validTemplates,
	validLabels,
	validSizes,
	validMounts,
	validMode,
	validMaster,
	monitoring.Validate,
	validDynamicAllocation,
}

// Spec returns all errors in the spec that prevent the application from running and that can be found without a
// cluster. An application with such an error fails. native.Build finds further errors in the values of fields.
func Spec(app *v1beta2.SparkApplication) []*dialect.FieldError {
	if wrong := dialect.OutOfBounds(app.OutOfBounds); wrong != nil {
		return wrong
	}

	var wrong []*dialect.FieldError
	for _, r := range rules {
		wrong = append(wrong, r(app)...)
	}
	return wrong
}

// validName rejects names with which an application cannot have Services.
func validName(app *v1beta2.SparkApplication) []*dialect.FieldError {
	return dialect.CheckName(app.Name, "a Service", validation.DNS1035LabelMaxLength)
}

// denied contains the Spark configuration keys that users may not set, each with advice what to do instead. The master
// and the service accounts are denied because they decide with which rights a submission runs, and the operator has
// rights that users do not have. The other keys are denied because they have a typed field. The
// CustomResourceDefinition rejects the same keys, but only in the spelling of this table.
var denied = fields.Application.Reserved()

// deniedFolded contains the keys and the advice of the map "denied", but with the keys in lower case. With this map,
// keys are denied in any letter case.
var deniedFolded = func() map[string]string {
	folded := make(map[string]string, len(denied))
	for key, way := range denied {
		folded[strings.ToLower(key)] = way
	}
	return folded
}()

// mountedPrefix is the prefix of those credential keys (sparkoperator.CredentialPrefix) that users may set. They name
// files that are mounted into the driver's own pod.
//
// There is one other credential key that users may set: submit.RunnerAccountKey, the service account of the pod that
// runs spark-submit. Like the driver's service account, it is in the user's namespace.
const mountedPrefix = "spark.kubernetes.authenticate.driver.mounted."

// SparkConf rejects the keys that users may not set, in any letter case. Spark's keys are case-sensitive. A key in
// another letter case is therefore a mistake or an attempt to circumvent the check.
func SparkConf(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	for _, key := range conf.SortedKeys(app.Spec.SparkConf) {
		field, folded := dialect.ConfField(key), strings.ToLower(strings.TrimSpace(key))
		if way, ok := deniedFolded[folded]; ok {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: "is not allowed: " + way})
			continue
		}

		if strings.HasPrefix(folded, sparkoperator.CredentialPrefix) && !strings.HasPrefix(folded, mountedPrefix) && key != submit.RunnerAccountKey {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: "is not allowed: driver and executors authenticate with the token of their service account, which Kubernetes mounts; remove the key"})
			continue
		}

		if value := app.Spec.SparkConf[key]; folded == "spark.kubernetes.namespace" && value != app.Namespace {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: fmt.Sprintf("%q is not allowed: an application runs in its own namespace, %q; remove the key", value, app.Namespace)})
		}
	}
	return wrong
}

// validNodeSelectors rejects specs that set both spec.nodeSelector and the nodeSelector of a role, because it is
// unclear which of the two has precedence.
func validNodeSelectors(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	if len(app.Spec.NodeSelector) == 0 {
		return nil
	}

	for role, pod := range map[string]*v1beta2.SparkPodSpec{"driver": &app.Spec.Driver.SparkPodSpec, "executor": &app.Spec.Executor.SparkPodSpec} {
		if len(pod.NodeSelector) > 0 {
			wrong = append(wrong, &dialect.FieldError{Field: "spec.nodeSelector", Message: fmt.Sprintf("cannot be set together with spec.%[1]s.nodeSelector; move all entries to spec.%[1]s.nodeSelector", role)})
		}
	}

	slices.SortFunc(wrong, func(a, b *dialect.FieldError) int { return strings.Compare(a.Message, b.Message) })
	return wrong
}

// validDynamicAllocation rejects numbers of executors with which the driver would fail at its start.
func validDynamicAllocation(app *v1beta2.SparkApplication) []*dialect.FieldError {
	return sparkoperator.CheckDynamicAllocation(app.Spec.DynamicAllocation)
}

// validTemplates rejects pod templates that cannot be decoded. The API server stores them without a check.
func validTemplates(app *v1beta2.SparkApplication) []*dialect.FieldError {
	return append(sparkoperator.CheckTemplate("spec.driver.template", app.Spec.Driver.Template), sparkoperator.CheckTemplate("spec.executor.template", app.Spec.Executor.Template)...)
}

// validLabels rejects the operator's own labels in every field whose labels the operator sets on an object, because the
// operator finds and deletes objects by these labels. In sparkUIOptions and driverIngressOptions, the operator
// overrides these labels instead, because no mistake in these two fields may make an application fail.
func validLabels(app *v1beta2.SparkApplication) []*dialect.FieldError {
	wrong := append(dialect.ReservedKeys("metadata.labels", "labels", conf.SortedKeys(app.Labels)), dialect.ReservedConfLabels(app.Spec.SparkConf)...)

	driver, executor := &app.Spec.Driver, &app.Spec.Executor
	for _, set := range []struct {
		field string
		keys  []string
	}{
		{"spec.driver.labels", conf.SortedKeys(driver.Labels)},
		{"spec.driver.serviceLabels", conf.SortedKeys(driver.ServiceLabels)},
		{"spec.executor.labels", conf.SortedKeys(executor.Labels)},
		{"spec.driver.template.metadata.labels", templateLabels(driver.Template)},
		{"spec.executor.template.metadata.labels", templateLabels(executor.Template)},
	} {
		wrong = append(wrong, dialect.ReservedKeys(set.field, "labels", set.keys)...)
	}
	return wrong
}

func templateLabels(template *runtime.RawExtension) []string {
	labels, _ := rawtemplate.Metadata(template)
	return conf.SortedKeys(labels)
}

// validMode rejects invalid modes. The schema rejects them too, but a program that uses the Go types can set them.
func validMode(app *v1beta2.SparkApplication) []*dialect.FieldError {
	switch app.Spec.Mode {
	case "", v1beta2.DeployModeCluster, v1beta2.DeployModeClient:
		return nil
	}
	return []*dialect.FieldError{{Field: "spec.mode", Message: fmt.Sprintf("%q is not served: the driver always runs in a pod of its own; use cluster", app.Spec.Mode)}}
}

// validMaster rejects an address of an API server to which the client in the driver cannot connect. Otherwise the
// driver would fail after its start.
func validMaster(app *v1beta2.SparkApplication) []*dialect.FieldError {
	master := sparkoperator.StringValue(app.Spec.Driver.KubernetesMaster)
	if scheme, _, ok := strings.Cut(fields.DriverMaster(master), "://"); !ok || scheme == "https" || scheme == "http" {
		return nil
	}
	return []*dialect.FieldError{{Field: "spec.driver.kubernetesMaster", Message: fmt.Sprintf("%q is not the address of an API server; write one such as https://kubernetes.default.svc", master)}}
}
