package sparkoperator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// ValidateConnect says everything about a SparkConnect that could never work, without looking at a cluster; connect.Build finds what else is wrong with
// values. What stands beside the server (spec.server.service, spec.ui) is not among it: it never keeps a server from running.
func ValidateConnect(sc *v1alpha1.SparkConnect) []*FieldError {
	var wrong []*FieldError
	for _, rule := range []func(*v1alpha1.SparkConnect) []*FieldError{
		validConnectName, validConnectTemplates, validConnectLabels, validConnectSizes,
	} {
		wrong = append(wrong, rule(sc)...)
	}
	return wrong
}

// validConnectName holds the name to a DNS label (RFC 1035) that leaves room for what follows it in the names of the pod and the Service.
func validConnectName(sc *v1alpha1.SparkConnect) []*FieldError {
	const field = "metadata.name"
	if problems := validation.IsDNS1035Label(sc.Name); len(problems) > 0 {
		return []*FieldError{{field, fmt.Sprintf("%q cannot begin the name of a Service: %s", sc.Name, strings.Join(problems, "; "))}}
	}
	if most := validation.DNS1035LabelMaxLength - len(connect.ServerName("")); len(sc.Name) > most {
		return []*FieldError{{field, fmt.Sprintf("%q has %d characters, and pod and Service %s would have too many; use %d at most",
			sc.Name, len(sc.Name), connect.ServerName(sc.Name), most)}}
	}
	return nil
}

// validConnectTemplates decodes the pod templates, which the API server stores unseen.
func validConnectTemplates(sc *v1alpha1.SparkConnect) (wrong []*FieldError) {
	check := func(field string, template *runtime.RawExtension) {
		var decoded corev1.PodTemplateSpec
		if template == nil || len(template.Raw) == 0 {
			return
		}
		if err := json.Unmarshal(template.Raw, &decoded); err != nil {
			wrong = append(wrong, &FieldError{field, fmt.Sprintf("is not a pod template: %v", err)})
		}
	}
	check("spec.server.template", sc.Spec.Server.Template)
	check("spec.executor.template", sc.Spec.Executor.Template)
	return wrong
}

// validConnectLabels refuses labels that only this operator may set: it finds its objects by them, and deletes by them.
func validConnectLabels(sc *v1alpha1.SparkConnect) (wrong []*FieldError) {
	check := func(field string, keys []string) {
		for _, key := range keys {
			if strings.HasPrefix(key, ownPrefix) {
				wrong = append(wrong, &FieldError{fmt.Sprintf("%s[%s]", field, key), "labels that begin with " + ownPrefix + " are the operator's own; remove it, or give it another name"})
			}
		}
	}
	check("metadata.labels", slices.Sorted(maps.Keys(sc.Labels)))
	for _, key := range slices.Sorted(maps.Keys(sc.Spec.SparkConf)) {
		if strings.Contains(key, ".label."+ownPrefix) {
			wrong = append(wrong, &FieldError{fmt.Sprintf("spec.sparkConf[%s]", key), "labels that begin with " + ownPrefix + " are the operator's own; remove the key, or give the label another name"})
		}
	}
	check("spec.server.template.metadata.labels", templateLabels(sc.Spec.Server.Template))
	check("spec.executor.template.metadata.labels", templateLabels(sc.Spec.Executor.Template))
	return wrong
}

// validConnectSizes reads the amounts of server and executors as Spark will. A bad one would end the server as soon as it has started, or, of executors,
// keep it waiting for them.
func validConnectSizes(sc *v1alpha1.SparkConnect) (wrong []*FieldError) {
	check := func(field, value string) {
		if value == "" || strings.Contains(value, "${") {
			return
		}
		if err := memorySize(value); err != nil {
			wrong = append(wrong, &FieldError{field, err.Error()})
		}
	}
	for _, typed := range []struct {
		field, key string
		value      *string
	}{
		{"spec.server.memory", "spark.driver.memory", sc.Spec.Server.Memory},
		{"spec.executor.memory", "spark.executor.memory", sc.Spec.Executor.Memory},
	} {
		if value(typed.value) != "" {
			check(typed.field, *typed.value)
		} else {
			check("spec.sparkConf["+typed.key+"]", sc.Spec.SparkConf[typed.key])
		}
	}
	return wrong
}
