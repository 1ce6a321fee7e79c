package configured

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	sparkschedule "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/schedule"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// schedules is the kind of the ScheduledSparkApplications.
type schedules struct {
	base
	fixed sparkschedule.Schedules // for methods that judge no run
	runs  sparkapp.Options
}

func newSchedules(settings func() config.Configuration, defaults func(client.Object) *platform.Settings) Kind {
	cfg := settings()
	return &schedules{fixed: scheduleDialect(cfg), runs: dialectOptions(cfg), base: base{settings, defaults, contract.Traits{
		Name:           "scheduledsparkapplication",
		RequiredFields: []string{"status.operator", "status.conditions"},
		NoApplication:  true, // the runs of a schedule are counted as applications
	}}}
}

// ruled returns the dialect with the platform's defaults for an object, and its rules for a namespace with the given
// labels.
func (k *schedules) ruled(object client.Object, labels map[string]string) sparkschedule.Schedules {
	runs := applicationsWith(k.runs, k.defaults(object))
	runs.Rules = k.settings().Policy.For(labels)
	d := k.fixed
	d.Runs = runs
	return d
}

func (*schedules) New() client.Object { return &v1beta2.ScheduledSparkApplication{} }

func (*schedules) Status(object client.Object) any {
	return &object.(*v1beta2.ScheduledSparkApplication).Status
}

func (*schedules) ObservedGeneration(object client.Object) int64 {
	return object.(*v1beta2.ScheduledSparkApplication).Status.ObservedGeneration
}

func (k *schedules) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.ruled(object, seen.NamespaceLabels).Decide(object.(*v1beta2.ScheduledSparkApplication), seen, now)
}

func (k *schedules) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return k.fixed.Events(object.(*v1beta2.ScheduledSparkApplication), plan)
}

func (k *schedules) Review(object client.Object, labels map[string]string, now time.Time) dialect.Review {
	return k.ruled(object, labels).Review(object.(*v1beta2.ScheduledSparkApplication), now)
}

func (*schedules) NewRun() client.Object { return &v1beta2.SparkApplication{} }

func (*schedules) NewRunList() client.ObjectList { return &v1beta2.SparkApplicationList{} }

func (k *schedules) RunFacts(run client.Object) lifecycle.Run {
	return k.fixed.RunFacts(run.(*v1beta2.SparkApplication))
}

func (k *schedules) RenderRun(object client.Object, action lifecycle.Action) (client.Object, error) {
	return k.fixed.RenderRun(object.(*v1beta2.ScheduledSparkApplication), action)
}

func (k *schedules) RunLabels(object client.Object) map[string]string {
	return k.fixed.RunLabels(object.(*v1beta2.ScheduledSparkApplication))
}

func (*schedules) RunPodLabel() string { return sparkoperator.LabelScheduledAppName }

func scheduleDialect(cfg config.Configuration) sparkschedule.Schedules {
	return sparkschedule.Schedules{Options: sparkschedule.Options{
		TimestampPrecision: cfg.ScheduledApplications.TimestampPrecision,
		Zones:              time.LoadLocation, // the programs embed the time zone database
	}}
}

// RunSummary returns a copy of a run that has only the fields that a schedule needs. It is for runs that were read
// live: such a run has all its fields, while the runs in the cache are trimmed.
func (*schedules) RunSummary(object client.Object) client.Object {
	run := object.(*v1beta2.SparkApplication)
	head := &v1beta2.SparkApplication{TypeMeta: run.TypeMeta, ObjectMeta: trim.Meta(&run.ObjectMeta)}
	trim.Bound(head)
	head.Status.AppState.State, head.Status.TerminationTime = run.Status.AppState.State, run.Status.TerminationTime
	return head
}

// RunResult returns the result of a run for the metrics, from a notice of the run's schedule. It returns "" for a
// notice that reports no result.
func (*schedules) RunResult(notice lifecycle.Notice) string {
	switch notice.Cause.Reason {
	case machine.ReasonCompleted:
		return machine.ResultSucceeded
	case machine.ReasonFailed:
		return machine.ResultFailed
	case machine.ReasonReplaced:
		return machine.ResultReplaced
	case machine.ReasonRefused:
		return machine.ResultRefused
	case machine.ReasonMissed, machine.ReasonSkipped:
		return machine.ResultSkipped
	}
	return ""
}

// RunDue returns when a run was due: its time in the schedule plus the jitter. This sum is the field nextRun of the
// status until the next run is planned. After that the jitter is no longer known, and RunDue returns the time in the
// schedule. For a run that somebody requested, RunDue returns the zero time.
func (*schedules) RunDue(object, run client.Object) time.Time {
	s := object.(*v1beta2.ScheduledSparkApplication)

	due, err := time.Parse(time.RFC3339, run.GetAnnotations()[v1beta2.ScheduledAtAnnotation])
	if err != nil {
		return time.Time{}
	}

	jitter := time.Duration(0)
	if s.Spec.JitterSeconds != nil {
		jitter = time.Duration(*s.Spec.JitterSeconds) * time.Second
	}

	if next := s.Status.NextRun.Time; next.After(due) && !next.After(due.Add(jitter)) {
		return next
	}
	return due
}

// Standing reads the state of a schedule from its status. The standing has a wait reason if the schedule's
// condition Stalled or Reconciling is true.
func (*schedules) Standing(object client.Object) lifecycle.Standing {
	s := object.(*v1beta2.ScheduledSparkApplication)

	standing := lifecycle.Standing{State: string(s.Status.ScheduleState)}
	for _, name := range []string{dialect.ConditionStalled, dialect.ConditionReconciling, dialect.ConditionSuspended} {
		condition := meta.FindStatusCondition(s.Status.Conditions, name)
		if condition == nil || condition.Status != metav1.ConditionTrue {
			continue
		}

		standing.Since = condition.LastTransitionTime.Time
		if name != dialect.ConditionSuspended {
			standing.Waits = condition.Reason
		}
		break
	}
	return standing
}
