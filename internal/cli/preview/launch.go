// Package preview computes what an operator makes of a custom resource, with the same decision functions and without a
// cluster: the first passes and the next pass over it (launch.go, next.go, change.go), the findings of the verb lint
// (lint.go), the objects that it would create (write.go, redact.go), and the spark-submit command line that does the
// same (submitline.go).
package preview

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// placeholderUID is the UID of a custom resource that is not stored yet. The resource needs a UID, because the names
// and the labels of the objects that the operator creates depend on it.
const placeholderUID types.UID = "00000000-0000-4000-8000-000000000000"

// PlaceholderSuffix ends the name of a custom resource with generateName, in the place of the API server's suffix.
const PlaceholderSuffix = "xxxxx"

// maxPasses is the largest number of passes to compute until the operator creates an object. One pass is not always
// enough, because the operator announces some launches in the status before it creates an object.
const maxPasses = 4

// Operator stands for an operator with a given configuration at a given time.
type Operator struct {
	Config config.Configuration
	Now    time.Time
	// NamespaceLabels are the labels of the objects' namespaces, by which the configuration selects defaults and rules of
	// the platform. If the labels are unknown (nil), only the defaults and rules for all namespaces apply.
	NamespaceLabels map[string]string
}

// Load returns an Operator with the configuration of a file. The Operator's time is the present time. An empty file
// name means the defaults of all settings.
func Load(file string) (Operator, error) {
	cfg, err := config.Load(file)
	return Operator{Config: cfg, Now: time.Now().UTC().Truncate(time.Microsecond)}, exit.With(exit.Invalid, err)
}

func (o Operator) labels(string) map[string]string { return o.NamespaceLabels }

// Defaults returns the platform's defaults for an object; nil if there are none.
func (o Operator) Defaults(object client.Object) *platform.Settings {
	return configured.Defaults(o.Config, object, o.labels)
}

// Fresh returns a copy of an object in the state right after its creation: with the defaults, a name, and without a
// status.
func (o Operator) Fresh(object client.Object) client.Object {
	fresh := object.DeepCopyObject().(client.Object)
	if fresh.GetName() == "" && fresh.GetGenerateName() != "" {
		fresh.SetName(fresh.GetGenerateName() + PlaceholderSuffix)
	}

	if fresh.GetUID() == "" {
		fresh.SetUID(placeholderUID)
	}

	if fresh.GetNamespace() == "" {
		fresh.SetNamespace(metav1.NamespaceDefault)
	}

	if fresh.GetCreationTimestamp().Time.IsZero() {
		fresh.SetCreationTimestamp(metav1.NewTime(o.Now))
	}

	fresh.SetGeneration(1)
	fresh.SetDeletionTimestamp(nil)
	reflect.ValueOf(fresh).Elem().FieldByName("Status").SetZero()
	withDefaults(fresh)
	return fresh
}

// Review returns what the operator would report about an object before it creates anything: all faults for which it
// would reject the object or, if there are none, warnings. The admission webhook returns the same.
func (o Operator) Review(object client.Object) (dialect.Review, error) {
	if _, err := o.Kind(object); err != nil {
		return dialect.Review{}, err
	}
	return configured.Review(o.Config, o.NamespaceLabels, o.Fresh(object), o.Now), nil
}

// Faults returns all faults for which the operator would reject an object.
func (o Operator) Faults(object client.Object) ([]*dialect.FieldError, error) {
	review, err := o.Review(object)
	return review.Faults, err
}

// Check returns an error with all faults for which the operator would reject an object of a file, with their places.
func (o Operator) Check(d *manifest.Loaded) error {
	faults, err := o.Faults(d.Object)

	wrong := []error{err}
	for _, fault := range faults {
		wrong = append(wrong, fmt.Errorf("%s: %w", d.Place(fault.Field), fault))
	}
	return errors.Join(wrong...)
}

// Unruled returns a copy of the operator that does not apply the rules of the platform. These rules are the policy in
// the operator's configuration.
func (o Operator) Unruled() Operator {
	o.Config.Policy = policy.Policy{AllowSnippetAnnotations: true}
	return o
}

// Launch describes what the operator would do with an object.
type Launch struct {
	// Objects are the objects that the operator creates, in order: first the objects that the driver pod needs, then
	// the driver pod, and last the auxiliary objects.
	Objects []client.Object
	// Runs are the applications that a schedule starts. Each of them has a Launch of its own.
	Runs []client.Object
	// Warnings are about fields that have no effect, and about other doubts.
	Warnings []string
	// Why says why the operator creates nothing. It is empty if the operator creates something.
	Why string

	settings []dialect.Setting // of the attempt
}

// Launch computes the operator's first passes over an object that was just created.
func (o Operator) Launch(object client.Object) (Launch, error) {
	k, err := o.Kind(object)
	if err != nil {
		return Launch{}, err
	}

	object = o.Fresh(object)
	if schedule, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
		return o.run(k, schedule)
	}
	var l Launch

	var seen lifecycle.Observed
	for range maxPasses {
		plan := k.Decide(object, seen, o.Now)
		if seen, err = l.create(k, object, plan, o.Now); err != nil {
			return l, err
		}
		// A live read finds nothing in an empty cluster.
		seen.Confirmed = slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm })

		if len(l.Objects) > 0 {
			break
		}
	}

	if len(seen.Drivers) > 0 {
		// The budget of a driver is created once the driver exists.
		later := object.DeepCopyObject().(client.Object)
		if _, err := l.create(k, later, k.Decide(later, seen, o.Now), o.Now); err != nil {
			return l, err
		}
	}

	l.addAuxiliary(k, object, seen, o.Now)

	l.Warnings = append(l.Warnings, conditionWarnings(object)...)
	if len(l.Objects) == 0 {
		l.Why = whyNothing(object)
	}
	return l, nil
}

// RunsSparkSubmit reports whether a pod that runs spark-submit creates the driver.
func (l *Launch) RunsSparkSubmit() bool {
	return slices.ContainsFunc(l.Objects, func(o client.Object) bool { return o.GetLabels()[submit.RoleLabel] == submit.RoleSubmitter })
}

// create adds the objects that a plan's create actions would create to the Launch, and returns what the operator would
// observe afterwards.
func (l *Launch) create(k Kind, object client.Object, plan lifecycle.Plan, now time.Time) (seen lifecycle.Observed, err error) {
	for _, action := range plan.Actions {
		if action.Verb != lifecycle.Create {
			continue
		}

		made, err := k.Render(object, action, now)
		if err != nil {
			return seen, err
		}

		first := len(l.Objects)
		for _, one := range made.Before {
			l.Objects = append(l.Objects, one)
		}

		l.Warnings = append(l.Warnings, made.Warnings...)
		if made.Driver == nil {
			continue
		}

		l.settings = settingsOf(action)

		driver, err := made.DriverObject()
		if err != nil {
			return seen, err
		}

		dependents.CountObjects(driver, l.Objects[first:])
		l.Objects = append(l.Objects, driver)
		seen = observed(made.Driver, action.Attempt)
	}
	return seen, nil
}

// observed returns the facts that the operator observes right after it has created the given driver or submitter pod.
func observed(pod *corev1.Pod, attempt int32) (seen lifecycle.Observed) {
	pod = pod.DeepCopy()
	pod.UID, pod.Status.Phase = placeholderUID, corev1.PodPending

	container := ""
	if len(pod.Spec.Containers) > 0 {
		container = pod.Spec.Containers[0].Name
	}

	if pod.Labels[submit.RoleLabel] == submit.RoleSubmitter {
		seen.Submitters = []lifecycle.Submitter{lifecycle.SubmitterFacts(pod, container)}
		return seen
	}

	driver := lifecycle.DriverFacts(pod, container)
	driver.Attempt = attempt
	seen.Drivers = []lifecycle.Driver{driver}
	return seen
}

// addAuxiliary adds the wanted auxiliary objects to the launch.
func (l *Launch) addAuxiliary(k Kind, object client.Object, seen lifecycle.Observed, now time.Time) {
	wanted := k.auxiliaryObjects(object, seen)
	if wanted.Unsettled {
		return
	}

	for _, one := range wanted.Objects {
		l.Objects = append(l.Objects, one)
	}

	if wanted.Record != nil {
		wanted.Record(nil, now)
	}
}

// run returns the Launch of a schedule: the next run that the operator would create.
func (o Operator) run(k Kind, schedule *v1beta2.ScheduledSparkApplication) (Launch, error) {
	var l Launch

	k.Decide(schedule, lifecycle.Observed{}, o.Now)
	next := schedule.Status.NextRun.Time

	l.Warnings = conditionWarnings(schedule)
	if next.IsZero() {
		l.Why = whyNothing(schedule)
		return l, nil
	}

	plan := k.Decide(schedule, lifecycle.Observed{}, next)
	for _, action := range plan.Actions {
		if action.Verb != lifecycle.Create {
			continue
		}

		run, err := k.Kind.(scheduler).RenderRun(schedule, action)
		if err != nil {
			return l, err
		}

		l.Runs = append(l.Runs, run)
	}

	if len(l.Runs) == 0 {
		l.Why = whyNothing(schedule)
	}
	return l, nil
}

// Conditions returns the conditions in the status of a custom resource.
func Conditions(object client.Object) []metav1.Condition {
	return reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("Conditions").Interface().([]metav1.Condition)
}

// conditionWarnings returns the messages of the conditions that warn about a spec, but do not prevent its launch.
func conditionWarnings(object client.Object) (warnings []string) {
	for _, c := range Conditions(object) {
		doubts := slices.Contains([]string{overwritten.Condition, monitoring.Condition}, c.Type) ||
			c.Type == dialect.ConditionDegraded
		if doubts && c.Status == metav1.ConditionTrue || c.Type == dialect.ConditionExposed && c.Status == metav1.ConditionFalse {
			warnings = append(warnings, sentences(strings.TrimPrefix(c.Message, "the application continues to run; "))...)
		}
	}
	return warnings
}

// sentences splits a message about several fields into one part for each field. Each part begins with the path of its
// field.
func sentences(message string) []string {
	parts := strings.Split(message, "; spec.")
	for i := range parts[1:] {
		parts[i+1] = "spec." + parts[i+1]
	}
	return parts
}

// whyNothing returns why the operator creates nothing for an object.
func whyNothing(object client.Object) string {
	conditions := Conditions(object)
	if meta.IsStatusConditionTrue(conditions, dialect.ConditionSuspended) {
		return "it is suspended; the operator creates its objects once spec.suspend is false"
	}

	for _, name := range []string{dialect.ConditionStalled, dialect.ConditionReady} {
		if c := meta.FindStatusCondition(conditions, name); c != nil && c.Message != "" {
			return c.Message
		}
	}
	return "the operator creates nothing for it"
}
