// Package tiny contains minimal kinds of custom resources that use every part of the reconciler. Tests use them to
// check how the reconciler carries out decisions.
package tiny

import (
	"errors"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Applications is a minimal kind, whose applications have one attempt and no retries. It uses no dialect. A test can
// replace its functions.
type Applications struct {
	OnDecide func(*v1beta2.SparkApplication, lifecycle.Observed, time.Time) lifecycle.Plan
	OnRender func(*v1beta2.SparkApplication, lifecycle.Action, time.Time) (submit.Objects, error)
	OnEvents func(*v1beta2.SparkApplication, lifecycle.Plan) []dialect.Event

	contract.Kind // of the operator, for what no test replaces
	traits        contract.Traits
}

// Kind returns the kind Applications with the functions of this package.
func Kind() *Applications {
	return &Applications{
		OnDecide: Decide, OnRender: Render, Kind: configured.For(kinds.SparkApplication).Build(config.Default, nil), traits: contract.Traits{Name: "tiny"},
		OnEvents: func(_ *v1beta2.SparkApplication, plan lifecycle.Plan) []dialect.Event {
			var events []dialect.Event
			for _, t := range plan.Transitions {
				events = append(events, dialect.Event{Type: corev1.EventTypeNormal, Reason: "Tiny" + string(t.To), Message: t.Cause.Message})
			}
			return events
		},
	}
}

// Traits returns the constant properties of the kind.
func (k *Applications) Traits() *contract.Traits { return &k.traits }

// ObservedGeneration returns the generation of an object, because Decide stores none.
func (k *Applications) ObservedGeneration(object client.Object) int64 { return object.GetGeneration() }

// Decide calls OnDecide.
func (k *Applications) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return k.OnDecide(object.(*v1beta2.SparkApplication), seen, now)
}

// Render calls OnRender.
func (k *Applications) Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return k.OnRender(object.(*v1beta2.SparkApplication), action, now)
}

// Events calls OnEvents.
func (k *Applications) Events(object client.Object, plan lifecycle.Plan) []dialect.Event {
	return k.OnEvents(object.(*v1beta2.SparkApplication), plan)
}

// Decide is the decision function of Kind.
func Decide(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	var plan lifecycle.Plan

	before := lifecycle.Phase("")
	if app.Status.Operator != nil {
		before = lifecycle.Phase(app.Status.Operator.Phase)
	}

	to := func(phase lifecycle.Phase, state v1beta2.ApplicationStateType, outcome lifecycle.Outcome, cause lifecycle.Cause, do ...lifecycle.Action) lifecycle.Plan {
		plan.Next.Phase, plan.Actions = phase, do
		if phase != before {
			plan.Transitions = []lifecycle.Transition{{From: before, To: phase, Attempt: 1, Outcome: outcome, Cause: cause, At: now}}
		}

		app.Status.AppState = v1beta2.ApplicationState{State: state, ErrorMessage: cause.Message}
		app.Status.SubmissionID = cause.Reason // tests read the reason here
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(phase), Attempt: 1}
		return plan
	}
	whole := lifecycle.Action{Part: lifecycle.Attempt, Attempt: 1, Verb: lifecycle.Delete}

	driver := seen.Driver(1)
	switch {
	case before.Terminal():
		plan.Next.Phase = before
		return plan
	case seen.Rejection != nil:
		return to(lifecycle.Done, v1beta2.ApplicationStateFailed, lifecycle.Refused, *seen.Rejection, whole)
	case before == lifecycle.New && len(seen.RemainingAttempts) > 0 && seen.RemainingAttempts[0] != 1 || before == lifecycle.New && seen.Driver(7) != nil:
		plan.Next.Phase = before // the objects of an older attempt are deleted first
		plan.Actions = []lifecycle.Action{{Part: lifecycle.Attempt, Attempt: 7, Verb: lifecycle.Delete}}
		return plan
	case before == lifecycle.New:
		return to(lifecycle.Launched, v1beta2.ApplicationStateSubmitted, "", lifecycle.Cause{},
			lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1})
	case driver == nil && seen.Confirmed:
		return to(lifecycle.Done, v1beta2.ApplicationStateFailed, lifecycle.Lost, lifecycle.Cause{Reason: "Lost"}, whole)
	case driver == nil:
		plan.Next.Phase = before
		plan.Actions = []lifecycle.Action{{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1}}
		return plan
	}

	phase, state, outcome, cause := whereIs(driver)
	return to(phase, state, outcome, cause)
}

// whereIs returns the phase, state, outcome and cause of an attempt that follow from the phase of the attempt's driver.
func whereIs(driver *lifecycle.Driver) (lifecycle.Phase, v1beta2.ApplicationStateType, lifecycle.Outcome, lifecycle.Cause) {
	switch driver.Phase {
	case lifecycle.DriverRunning:
		return lifecycle.Running, v1beta2.ApplicationStateRunning, "", lifecycle.Cause{}
	case lifecycle.DriverSucceeded:
		return lifecycle.Retained, v1beta2.ApplicationStateCompleted, lifecycle.Succeeded, lifecycle.Cause{}
	case lifecycle.DriverFailed:
		return lifecycle.Retained, v1beta2.ApplicationStateFailed, lifecycle.Failed, driver.Why
	}
	return lifecycle.Launched, v1beta2.ApplicationStateSubmitted, "", driver.Why
}

// Render returns the objects of one attempt of an application of Kind: a ConfigMap, a Service and the driver pod.
func Render(app *v1beta2.SparkApplication, action lifecycle.Action, _ time.Time) (submit.Objects, error) {
	meta := func(suffix string) metav1.ObjectMeta { return Meta(app, suffix, action.Attempt) }
	immutable := &corev1.ConfigMap{ObjectMeta: meta("conf"), Immutable: new(true), Data: map[string]string{"class": *app.Spec.MainClass}}
	service := &corev1.Service{ObjectMeta: meta("svc"), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{identity.AppUIDLabel: string(app.UID)},
		Ports: []corev1.ServicePort{{Name: "rpc", Port: 7078, TargetPort: intstr.FromInt32(7078)}},
	}}
	return submit.Objects{Before: []submit.Object{immutable, service}, Driver: Driver(app, action.Attempt)}, nil
}

// Meta returns the metadata of a dependent of an application for one attempt.
func Meta(app *v1beta2.SparkApplication, suffix string, attempt int32) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: app.Namespace, Name: app.Name + "-" + suffix,
		Labels: map[string]string{identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: strconv.Itoa(int(attempt))},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(app, v1beta2.GroupVersion.WithKind("SparkApplication")),
		},
	}
}

// Driver returns the driver pod of an attempt.
func Driver(app *v1beta2.SparkApplication, attempt int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: Meta(app, "driver", attempt), Spec: corev1.PodSpec{
		RestartPolicy:      corev1.RestartPolicyNever,
		ServiceAccountName: "default",
		Containers:         []corev1.Container{{Name: overlay.DriverContainer, Image: *app.Spec.Image}},
	}}
	pod.Labels[identity.RoleLabel] = identity.RoleDriver
	return pod
}

// schedules is the kind that Schedules returns.
type schedules struct {
	contract.Kind // of the operator, for what is the same
	runs          // likewise
	traits        contract.Traits
}

// runs are the methods of runs.Kind that schedules do not replace.
type runs interface {
	NewRun() client.Object
	NewRunList() client.ObjectList
	RunSummary(run client.Object) client.Object
	RunDue(object, run client.Object) time.Time
	RunResult(notice lifecycle.Notice) string
}

// Schedules returns a minimal kind of schedules. A schedule starts one run. The name of the run ends with the value of
// spec.schedule.
//
// With the policy Forbid, a run starts only after the previous run ended. If the cache contains no previous run, the
// decision requests a read from the API server, to confirm that there is none. A suspended schedule deletes all its
// runs.
func Schedules() contract.Kind {
	own := configured.For(kinds.Schedule).Build(config.Default, nil)
	return &schedules{Kind: own, runs: own.(runs), traits: contract.Traits{Name: "tinyschedule"}}
}

func (k *schedules) Traits() *contract.Traits { return &k.traits }

func (*schedules) ObservedGeneration(object client.Object) int64 { return object.GetGeneration() }

func (*schedules) Standing(client.Object) lifecycle.Standing { return lifecycle.Standing{} }

func (*schedules) Decide(object client.Object, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return decideSchedule(object.(*v1beta2.ScheduledSparkApplication), seen, now)
}

func (*schedules) Events(_ client.Object, plan lifecycle.Plan) []dialect.Event {
	var events []dialect.Event
	for _, action := range plan.Actions {
		events = append(events, dialect.Event{Type: corev1.EventTypeNormal, Reason: "Tiny" + string(action.Verb), Message: action.Name})
	}
	return events
}

// RunLabels returns nothing, because the owner references identify the schedule.
func (*schedules) RunLabels(client.Object) map[string]string { return nil }

func (*schedules) RunPodLabel() string { return "" }

func (*schedules) RenderRun(object client.Object, action lifecycle.Action) (client.Object, error) {
	return RenderRun(object.(*v1beta2.ScheduledSparkApplication), action)
}

// RunFacts returns the facts about a run of Schedules.
func (*schedules) RunFacts(object client.Object) lifecycle.Run {
	run := object.(*v1beta2.SparkApplication)

	facts := lifecycle.Run{Name: run.Name, UID: string(run.UID), Deleting: run.DeletionTimestamp != nil}
	switch run.Status.AppState.State {
	case v1beta2.ApplicationStateCompleted:
		facts.Outcome = lifecycle.Succeeded
	case v1beta2.ApplicationStateFailed:
		facts.Outcome = lifecycle.Failed
	}
	return facts
}

// decideSchedule is the decision function of Schedules.
func decideSchedule(s *v1beta2.ScheduledSparkApplication, seen lifecycle.Observed, _ time.Time) lifecycle.Plan {
	var plan lifecycle.Plan
	s.Status.PastSuccessfulRunNames, s.Status.Reason = nil, ""

	goesOn := false
	for _, run := range seen.Runs {
		goesOn = goesOn || run.Outcome == lifecycle.Undecided
		if run.Outcome == lifecycle.Succeeded {
			s.Status.PastSuccessfulRunNames = append(s.Status.PastSuccessfulRunNames, run.Name)
		}

		if s.Spec.Suspend != nil && *s.Spec.Suspend {
			plan.Actions = append(plan.Actions, lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.ScheduledRun, Name: run.Name})
		}
	}

	next := s.Name + "-" + s.Spec.Schedule

	last := s.Status.LastRunName
	switch {
	case seen.Rejection != nil:
		s.Status.Reason = seen.Rejection.Reason + ": " + seen.Rejection.Message
		plan.Actions, plan.RequeueAfter = nil, 100*time.Millisecond
		return plan
	case last == next:
		return plan
	case s.Spec.ConcurrencyPolicy == v1beta2.ConcurrencyForbid && last != "":
		if goesOn {
			return plan
		}

		if !seen.Confirmed && !slices.ContainsFunc(seen.Runs, func(run lifecycle.Run) bool { return run.Name == last }) {
			plan.Actions = []lifecycle.Action{{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun, Name: last}}
			return plan
		}
	}

	s.Status.LastRunName, s.Status.ScheduleState = next, v1beta2.ScheduleStateScheduled
	plan.Actions = append(plan.Actions, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: next})
	return plan
}

// RenderRun returns the application that is the run of a schedule of the kind Schedules.
func RenderRun(s *v1beta2.ScheduledSparkApplication, action lifecycle.Action) (client.Object, error) {
	if s.Spec.Template.Image == nil {
		return nil, errors.New("spec.template.image: required")
	}
	return &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: action.Name, Annotations: map[string]string{v1beta2.ScheduledAtAnnotation: s.CreationTimestamp.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: s.Name, UID: s.UID, BlockOwnerDeletion: new(true),
			}},
		},
		Spec: s.Spec.Template,
	}, nil
}
