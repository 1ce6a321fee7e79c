package validate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
)

// validSizes rejects sizes of driver and executors that Spark does not accept. Without this check, the driver would
// read the executors' sizes after its start, and the application would wait for executors that are never created. A
// value with a reference ("${...}") is not checked, since only the driver can resolve it.
func validSizes(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	for v := range fields.Application.Values(app, func(r *table.Row) bool { return r.Check != nil }) {
		if strings.Contains(v.Text, "${") {
			continue
		}

		if err := v.Check(v.Text); err != nil {
			wrong = append(wrong, &dialect.FieldError{Field: v.Path, Message: err.Error()})
		}
	}
	return append(wrong, executorLimit(app)...)
}

// executorLimit rejects a CPU limit of executors that is below their CPU request. Without this check, Kubernetes would
// reject every executor pod, and the driver would try to create executors forever. The driver's own limit is checked
// when its pod is built.
func executorLimit(app *v1beta2.SparkApplication) []*dialect.FieldError {
	effective := func(field string) string { return fields.Application.Effective(app, app.Spec.SparkConf, field) }
	request := cmp.Or(effective("spec.executor.coreRequest"), effective("spec.executor.cores"), "1")
	limit := effective("spec.executor.coreLimit")
	wanted, err1 := bounds.Quantity(strings.TrimSpace(request))

	most, err2 := bounds.Quantity(strings.TrimSpace(limit))
	if err1 != nil || err2 != nil || most.Cmp(wanted) >= 0 {
		return nil
	}
	return []*dialect.FieldError{{Field: "spec.executor.coreLimit", Message: fmt.Sprintf("%q is below the request, %q; raise it, or lower the request", limit, request)}}
}
