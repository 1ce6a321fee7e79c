package kinds

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	sparkschedule "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/schedule"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Schedules returns the kind of the ScheduledSparkApplications of sparkoperator.k8s.io/v1beta2. For the arguments see
// SparkApplications.
func Schedules(settings func() config.Configuration, labels NamespaceLabels) kind.Kind {
	cfg := settings()
	fixed := scheduleDialect(cfg) // for functions that do not depend on defaults
	defaults := platformDefaults(cfg, labels)
	schedules := func(s client.Object) sparkschedule.Schedules { return schedulesWith(fixed, defaults(s)) }
	type schedule = v1beta2.ScheduledSparkApplication
	return kind.Kind{
		Name:   "scheduledsparkapplication",
		New:    func() client.Object { return &schedule{} },
		Status: typed.Of(func(s *schedule) any { return &s.Status }),
		Decide: typed.Decides(func(s *schedule, seen lifecycle.Observed, at time.Time) lifecycle.Plan {
			d := schedules(s)
			d.Applications.Rules = settings().Policy.For(seen.NamespaceLabels)
			return d.Decide(s, seen, at)
		}),
		Events:     typed.With(fixed.Events),
		Definition: kind.Definition{RequiredFields: []string{"status.operator", "status.conditions"}},
		Progress: kind.Progress{
			Observed: typed.Of(func(s *schedule) int64 { return s.Status.ObservedGeneration }), Standing: typed.Of(standingOfSchedule),
			NoApplication: true, // the runs of a schedule are counted as applications
		},
		Runs: &kind.Runs{
			New:     func() client.Object { return &v1beta2.SparkApplication{} },
			List:    func() client.ObjectList { return &v1beta2.SparkApplicationList{} },
			Facts:   func(run client.Object) lifecycle.Run { return fixed.RunFacts(run.(*v1beta2.SparkApplication)) },
			Summary: runSummary,
			Render: func(s client.Object, action lifecycle.Action) (client.Object, error) {
				return fixed.RenderRun(s.(*schedule), action)
			},
			Labels:   typed.Of(fixed.RunLabels),
			PodLabel: sparkoperator.LabelScheduledAppName,
			Due:      typed.With(dueOf),
			Result:   resultOf,
		},
	}
}

func scheduleDialect(cfg config.Configuration) sparkschedule.Schedules {
	return sparkschedule.Schedules{Options: sparkschedule.Options{
		TimestampPrecision: cfg.ScheduledApplications.TimestampPrecision,
		Applications:       dialectOptions(cfg),
		Zones:              time.LoadLocation, // the programs embed the time zone database
	}}
}

// runSummary returns a copy of a run that has only the fields that a schedule needs. It is for runs that were read
// live: such a run has all its fields, while the runs in the cache are trimmed.
func runSummary(object client.Object) client.Object {
	run := object.(*v1beta2.SparkApplication)
	head := &v1beta2.SparkApplication{TypeMeta: run.TypeMeta, ObjectMeta: trim.Meta(&run.ObjectMeta)}
	trim.Bound(head)
	head.Status.AppState.State, head.Status.TerminationTime = run.Status.AppState.State, run.Status.TerminationTime
	return head
}

// resultOf returns the result of a run for the metrics, from a notice of the run's schedule. It returns "" for a notice
// that reports no result.
func resultOf(notice lifecycle.Notice) string {
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

// dueOf returns when a run was due: its time in the schedule plus the jitter. This sum is the field nextRun of the
// status until the next run is planned. After that the jitter is no longer known, and dueOf returns the time in the
// schedule. For a run that somebody requested, dueOf returns the zero time.
func dueOf(s *v1beta2.ScheduledSparkApplication, run client.Object) time.Time {
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

// standingOfSchedule reads the state of a schedule from its status. The standing has a wait reason if the schedule's
// condition Stalled or Reconciling is true.
func standingOfSchedule(s *v1beta2.ScheduledSparkApplication) lifecycle.Standing {
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
