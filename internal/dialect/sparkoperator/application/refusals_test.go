package application

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const validationDocument = "../../../../docs/refused-applications.md"

// refusals contains the applications of testdata/refusals.yaml that are always rejected. onlyBySparkSubmit contains the
// applications of this file that only spark-submit can submit. They are rejected if the configuration does not allow
// spark-submit.
var refusals, onlyBySparkSubmit = func() (always, native []refusal.Row) {
	file, err := refusal.Read("testdata/refusals.yaml")
	if err != nil {
		panic(err)
	}
	return file.Refusals, file.OnlyBySparkSubmit
}()

// refusedField returns the field that the rejection of an application names.
func refusedField(app *v1beta2.SparkApplication) string {
	if wrong := usual.Faults(app, sparkapp.T0); len(wrong) > 0 {
		return wrong[0].Field
	}
	return ""
}
