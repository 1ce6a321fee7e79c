package application

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// onlyBySparkSubmit lists specs for which only spark-submit can create the driver pod: the field that the error names,
// the rule, a piece of such an application's YAML, and the text of the event if spark-submit is allowed.
var onlyBySparkSubmit = []struct{ field, when, piece, why string }{
	{"spec.sparkConf[spark.kubernetes.driver.pod.featureSteps]", "names a class, which only a JVM runs", `spec: {sparkConf: {spark.kubernetes.driver.pod.featureSteps: org.example.Step}}`,
		`"org.example.Step" cannot run outside a JVM`},
	{"spec.deps.jars", "is a pattern on a remote file system, whose client would have to expand it; the same holds for `files`, `pyFiles` and `archives`", `spec: {deps: {jars: ["s3a://b/*.jar"]}}`,
		`"s3a://b/*.jar" is a pattern, which needs the file system's own client to expand`},
	{"spec.mainClass", "is missing, and the jar that may name it is remote", `spec: {mainClass: null, mainApplicationFile: "s3a://b/a.jar"}`,
		"a Java or Scala application needs a main class: the operator does not read it from the jar"},
	{"spec.deps.files", "is a file of the image that is to be uploaded (`spark.kubernetes.file.upload.path`); the same holds for `jars`, `pyFiles` and `archives`",
		`spec: {deps: {files: [/opt/f]}, sparkConf: {spark.kubernetes.file.upload.path: "s3a://b"}}`, `"/opt/f" is a file of the submitter, which is never read`},
	{"spec.mainApplicationFile", "the same", `spec: {mainApplicationFile: /opt/a.jar, sparkConf: {spark.kubernetes.file.upload.path: "s3a://b"}}`,
		`"/opt/a.jar" is a file of the submitter, which is never read`},
	{"spec.sparkConf[spark.kerberos.keytab]", "is a file of the image to log in with", `spec: {sparkConf: {spark.kerberos.keytab: /k, spark.kerberos.principal: p}}`,
		"a file of the submitter is never read"},
	{"spec.sparkConf[spark.kubernetes.kerberos.krb5.path]", "is a file of the image", `spec: {sparkConf: {spark.kubernetes.kerberos.krb5.path: /etc/krb5.conf}}`,
		"a file of the submitter is never read"},
	{"spec.sparkConf[" + driverClaimPrefix + "v.options.claimName]", "requests a new claim for the driver (`OnDemand`); the same holds for `volumes`",
		`spec: {sparkConf: {` + driverClaimPrefix + `v.options.claimName: OnDemand, ` +
			driverClaimPrefix + `v.options.storageClass: fast, ` + driverClaimPrefix + `v.options.sizeLimit: 1Gi, ` + driverClaimPrefix + `v.mount.path: /v}}`,
		"requests a new claim for the driver, and the operator has no right to create claims"},
}

// TestNativeRefusalsDocument compares the part of docs/validation.md about applications that are rejected where
// spark-submit is not allowed, or writes it with -update. It also checks that each of these applications is accepted if
// spark-submit is allowed.
func TestNativeRefusalsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("| field | refused when it |")
	line("|---|---|")
	for _, r := range onlyBySparkSubmit {
		line("| `%s` | %s |", r.field, r.when)
		app := appOf(t, r.piece)
		objects, why, err := usual.BuildAttempt(app, 1, t0)
		if err != nil || objects.Driver.Labels["spark-role"] != submit.RoleSubmitter {
			t.Errorf("%s: spark-submit does not help: %v", r.piece, err)
			continue
		}
		if want := "spark-submit creates the driver pod: " + r.field + ": " + r.why; why.Message != want {
			t.Errorf("%s: said is %q, want %q", r.piece, why.Message, want)
		}
		for name, d := range map[string]Dialect{"the application's mode": usual, "the operator's": {Options{Submission: onlyNative}}} {
			if name == "the application's mode" {
				submittedBy(onlyNative)(app)
			} else {
				app.Spec.Submission = nil
			}
			_, _, err := d.BuildAttempt(app, 1, t0)
			if wrong, ok := errors.AsType[*sparkoperator.FieldError](err); !ok || wrong.Field != r.field || !strings.Contains(wrong.Message, r.why) {
				t.Errorf("%s, %s: error %v, want one of %s", r.piece, name, err, r.field)
			}
		}
	}
	line("| `%s` | is `SparkSubmit`, and the operator's configuration has `Native` |", modeField)
	app := appOf(t, `spec: {submission: {mode: SparkSubmit}}`)
	if _, _, err := (Dialect{Options{Submission: v1beta2.SubmissionModeNative}}).BuildAttempt(app, 1, t0); err == nil || !strings.HasPrefix(err.Error(), modeField) {
		t.Errorf("spark-submit that is switched off: %v", err)
	}
	compareSection(t, validationDocument, "only by spark-submit", text.String())
}
