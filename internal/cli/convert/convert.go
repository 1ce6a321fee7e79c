// Package convert converts applications between the two API groups. It needs no cluster.
//
// A conversion goes through the input of spark-submit, which both API groups share. Therefore the operator builds the
// same driver pod from the source and from the result. If the other API group has no counterpart for a field, the
// converted manifest contains a comment about the field.
package convert

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
)

// SparkOperator and Apache are the API groups between which the package converts.
const (
	SparkOperator = "sparkoperator.k8s.io"
	Apache        = "spark.apache.org"
)

// Result is a converted application.
type Result struct {
	// Objects are ConfigMaps that the application needs and that its new API group does not create. The application
	// comes last.
	Objects []client.Object
	// Comments are about the application.
	Comments []Comment
}

// Application returns the converted application.
func (r *Result) Application() client.Object { return r.Objects[len(r.Objects)-1] }

// Comment is a comment at a field of a converted application.
type Comment struct {
	// Field is the path of the field, such as spec.sparkConf. If the application does not have the field, the comment
	// belongs to the nearest enclosing field.
	Field string
	// Text names the field of the source if that field has no counterpart.
	Text string
	// Pod contains regular expressions for the parts of the driver pod that differ for the reason in Text.
	Pod []string
}

// notes collects comments.
type notes []Comment

func (n *notes) add(field, format string, args ...any) *Comment {
	*n = append(*n, Comment{Field: field, Text: fmt.Sprintf(format, args...)})
	return &(*n)[len(*n)-1]
}

// dropped checks which of the given fields are set in the source, and adds a comment about each of them.
func (n *notes) dropped(fields ...droppedField) {
	for _, f := range fields {
		if f.set {
			n.add(f.at, "%s: no counterpart: %s", f.field, f.text)
		}
	}
}

// droppedField is a field of the source that has no counterpart in the other API group.
type droppedField struct {
	set bool
	// at is the field of the result that has the comment.
	at, field string
	// text says what is lost and what to do instead.
	text string
}

// Convert converts an application of one API group into an application of the other. If the object is a schedule, it
// converts the schedule's application template. The parameter o describes the operator, because the operator's
// configuration decides how the driver pods of both applications are built.
func Convert(o preview.Operator, object client.Object, group string) (Result, error) {
	from := object.GetObjectKind().GroupVersionKind()
	if from.Group == group {
		return Result{}, fmt.Errorf("is already an object of %s; convert it with --to %s", group, Other(group))
	}

	if err := convertible(object); err != nil {
		return Result{}, err
	}

	faults, err := o.Faults(object)
	if err != nil {
		return Result{}, err
	}

	for _, fault := range faults {
		return Result{}, fmt.Errorf("is invalid: %w", fault)
	}
	var result Result

	var source client.Object
	switch object := object.(type) {
	case *v1beta2.ScheduledSparkApplication:
		app := templateOf(object)

		source = app
		if result, err = toApache(o, app); err == nil {
			result.Comments = append(scheduleComments(object), result.Comments...)
		}
	case *v1beta2.SparkApplication:
		source = object
		result, err = toApache(o, object)
	case *sparkv1.SparkApplication:
		source = object
		result, err = toSparkOperator(o, object)
	}

	if err != nil {
		return Result{}, err
	}

	if faults, err = o.Faults(result.Application()); err != nil {
		return Result{}, err
	}

	for _, fault := range faults {
		return Result{}, fmt.Errorf("is invalid in %s: %w", group, fault)
	}

	different, err := differences(o, source, result.Application())
	if err != nil {
		return Result{}, err
	}

	result.explain(different)
	return result, nil
}

// Other returns the other one of the two API groups.
func Other(group string) string {
	if group == Apache {
		return SparkOperator
	}
	return Apache
}

// Submitted converts an application that was made from a command line of spark-submit to the given API group. If the
// application is invalid, Submitted returns its first error.
func Submitted(o preview.Operator, app *v1beta2.SparkApplication, group string) (Result, error) {
	if group == Apache {
		return Convert(o, app, Apache)
	}

	faults, err := o.Faults(app)
	if err != nil {
		return Result{}, err
	}

	for _, fault := range faults {
		return Result{}, fault
	}
	return Result{Objects: []client.Object{app}}, nil
}

// convertible returns an error if the other API group has no counterpart for the kind of the object.
func convertible(object client.Object) error {
	switch object.(type) {
	case *v1alpha1.SparkConnect:
		return fmt.Errorf("%s has no counterpart of a SparkConnect; keep the SparkConnect: the operator serves both API groups", Apache)
	case *sparkv1.SparkCluster:
		return fmt.Errorf("%s has no counterpart of a SparkCluster; keep the SparkCluster: the operator serves both API groups", SparkOperator)
	}
	return nil
}

// explain adds a comment about each part of the driver pod that differs, unless another comment explains the
// difference.
func (r *Result) explain(different []string) {
	for _, part := range different {
		if !slices.ContainsFunc(r.Comments, func(c Comment) bool { return c.explains(part) }) {
			r.Comments = append(r.Comments, Comment{Field: "spec", Text: "driver pod: " + part + " differs from that of the source"})
		}
	}
}

// metadata returns the metadata of a converted application. It leaves out the fields and annotations that only the API
// server or kubectl sets.
func metadata(source client.Object) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: source.GetName(), GenerateName: source.GetGenerateName(), Namespace: source.GetNamespace(), Labels: source.GetLabels()}
	for key, value := range source.GetAnnotations() {
		if !strings.HasPrefix(key, "kubectl.kubernetes.io/") {
			metav1.SetMetaDataAnnotation(&m, key, value)
		}
	}
	return m
}

// templateOf returns the application that a schedule runs.
func templateOf(schedule *v1beta2.ScheduledSparkApplication) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{ObjectMeta: *schedule.ObjectMeta.DeepCopy(), Spec: *schedule.Spec.Template.DeepCopy()}
	app.SetGroupVersionKind(v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
	return app
}

// scheduleComments returns comments about the fields of a schedule, because the converted application is no schedule.
func scheduleComments(s *v1beta2.ScheduledSparkApplication) notes {
	var n notes
	spec := &s.Spec
	n.add("spec", "spec.schedule: no counterpart: it was %q in the time zone %s; this application runs once, so create it by a CronJob or by a workflow engine", spec.Schedule, zone(spec))
	n.dropped(
		droppedField{spec.Suspend != nil, "spec", "spec.suspend", "suspend the CronJob instead"},
		droppedField{spec.ConcurrencyPolicy != "", "spec", "spec.concurrencyPolicy", "it was " + string(spec.ConcurrencyPolicy)},
		droppedField{spec.SuccessfulRunHistoryLimit != nil, "spec", "spec.successfulRunHistoryLimit", "applicationTolerations.ttlAfterStopMillis deletes ended applications"},
		droppedField{spec.FailedRunHistoryLimit != nil, "spec", "spec.failedRunHistoryLimit", "applicationTolerations.ttlAfterStopMillis deletes ended applications"},
		droppedField{spec.StartingDeadlineSeconds != nil, "spec", "spec.startingDeadlineSeconds", "a CronJob has a field of this name"},
		droppedField{spec.JitterSeconds != nil, "spec", "spec.jitterSeconds", "choose another minute for the CronJob"},
	)
	return n
}

func zone(spec *v1beta2.ScheduledSparkApplicationSpec) string {
	if spec.TimeZone == "" {
		return "UTC"
	}
	return spec.TimeZone
}
