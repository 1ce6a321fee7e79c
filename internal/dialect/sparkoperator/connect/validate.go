package connect

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// validateConnect returns all errors in the spec that prevent a SparkConnect from running and that can be found without
// a cluster. connect.Build finds further errors in the values of fields. validateConnect does not check the fields of
// the auxiliary objects (spec.server.service, spec.ui), because they never prevent a server from running.
func validateConnect(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	if wrong := dialect.OutOfBounds(sc.OutOfBounds); wrong != nil {
		return wrong
	}

	var wrong []*dialect.FieldError
	for _, rule := range []func(*v1alpha1.SparkConnect) []*dialect.FieldError{
		validConnectName, validConnectTemplates, validConnectMetadata, validConnectSizes, validConnectAllocation, validGPU,
	} {
		wrong = append(wrong, rule(sc)...)
	}
	return wrong
}

// validConnectName checks that the name is a DNS label (RFC 1035), and that it is short enough for the suffixes in the
// names of the pod and the Service.
func validConnectName(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	return dialect.CheckName(sc.Name, "a Service", validation.DNS1035LabelMaxLength-len(connect.ServerName("")))
}

// validConnectAllocation rejects numbers of executors with which a server would fail at its start.
func validConnectAllocation(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	return sparkoperator.CheckDynamicAllocation(sc.Spec.DynamicAllocation)
}

// validConnectTemplates rejects pod templates that cannot be decoded. The API server stores them without a check.
func validConnectTemplates(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	return append(sparkoperator.CheckTemplate("spec.server.template", sc.Spec.Server.Template), sparkoperator.CheckTemplate("spec.executor.template", sc.Spec.Executor.Template)...)
}

// validConnectMetadata rejects labels and annotations with the operator's own prefix, because the operator finds and
// deletes objects by them.
func validConnectMetadata(sc *v1alpha1.SparkConnect) []*dialect.FieldError {
	wrong := append(dialect.ReservedKeys("metadata.labels", "labels", slices.Sorted(maps.Keys(sc.Labels))), dialect.ReservedConfLabels(sc.Spec.SparkConf)...)
	for _, key := range slices.Sorted(maps.Keys(sc.Spec.SparkConf)) {
		if strings.Contains(key, ".annotation."+dialect.OwnPrefix) {
			wrong = append(wrong, &dialect.FieldError{Field: dialect.ConfField(key), Message: "annotations that begin with " + dialect.OwnPrefix + " are the operator's own; remove the key, or give the annotation another name"})
		}
	}

	for _, t := range []struct {
		field    string
		template *runtime.RawExtension
	}{{"spec.server.template", sc.Spec.Server.Template}, {"spec.executor.template", sc.Spec.Executor.Template}} {
		labels, annotations := rawtemplate.Metadata(t.template)
		wrong = append(wrong, dialect.ReservedKeys(t.field+".metadata.labels", "labels", slices.Sorted(maps.Keys(labels)))...)
		wrong = append(wrong, dialect.ReservedKeys(t.field+".metadata.annotations", "annotations", slices.Sorted(maps.Keys(annotations)))...)
	}
	return wrong
}

// validConnectSizes rejects sizes of the server and its executors that Spark does not accept. With an invalid size, the
// server would end right after its start, or it would wait forever for executors that cannot be created.
func validConnectSizes(sc *v1alpha1.SparkConnect) (wrong []*dialect.FieldError) {
	for row := range fields.Connect.Rows() {
		if row.Check == nil {
			continue
		}

		field, value := row.Path, fields.Connect.Effective(sc, nil, row.Path)
		if value == "" {
			field, value = dialect.ConfField(row.Key), sc.Spec.SparkConf[row.Key]
		}

		if value == "" || strings.Contains(value, "${") {
			continue
		}

		if err := row.Check(value); err != nil {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: err.Error()})
		}
	}
	return wrong
}
