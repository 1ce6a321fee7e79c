package sparkoperator

import (
	"math"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// defaultInterval lies before a retry of an application that sets no interval, as this API's webhook has always had it.
const defaultInterval = 5 * time.Second

// app reads what the application asks for.
func (d Dialect) app(app *v1beta2.SparkApplication) lifecycle.App {
	spec := &app.Spec
	out := lifecycle.App{
		UID:              string(app.UID),
		SpecHash:         Hash(spec),
		Deleting:         app.DeletionTimestamp != nil,
		Suspend:          spec.Suspend != nil && *spec.Suspend,
		Restart:          restart(&spec.RestartPolicy),
		Limits:           limits(spec.Timeouts, d.Limits),
		InitialExecutors: initialExecutors(spec),
		MissingGrace:     d.MissingGrace,
	}
	if wrong := Validate(app); len(wrong) > 0 {
		var all []string
		for _, e := range wrong {
			all = append(all, e.Error())
		}
		out.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: strings.Join(all, "; ")}
	}
	switch {
	case spec.TimeToLiveSeconds != nil:
		out.TTL = new(seconds(spec.TimeToLiveSeconds, 0))
	case d.DefaultTTL > 0:
		out.TTL = new(d.DefaultTTL)
	}
	return out
}

func restart(p *v1beta2.RestartPolicy) lifecycle.Restart {
	r := lifecycle.Restart{
		Policy:             lifecycle.Never,
		FailureInterval:    seconds(p.OnFailureRetryInterval, defaultInterval),
		SubmissionInterval: seconds(p.OnSubmissionFailureRetryInterval, defaultInterval),
	}
	switch p.Type {
	case v1beta2.RestartPolicyAlways:
		r.Policy = lifecycle.Always
	case v1beta2.RestartPolicyOnFailure:
		r.Policy = lifecycle.OnFailure
	}
	if p.OnFailureRetries != nil {
		r.FailureRetries = *p.OnFailureRetries
	}
	if p.OnSubmissionFailureRetries != nil {
		r.SubmissionRetries = *p.OnSubmissionFailureRetries
	}
	if b := p.Backoff; b != nil {
		if b.Factor != nil {
			r.Factor = float64(*b.Factor)
		}
		r.Max = seconds(b.MaxSeconds, 0)
	}
	return r
}

func limits(t *v1beta2.Timeouts, d lifecycle.Deadlines) lifecycle.Deadlines {
	if t == nil {
		return d
	}
	return lifecycle.Deadlines{
		DriverStart:    seconds(t.DriverStartSeconds, d.DriverStart),
		DriverReady:    seconds(t.DriverReadySeconds, d.DriverReady),
		ExecutorsStart: seconds(t.ExecutorsStartSeconds, d.ExecutorsStart),
		Run:            seconds(t.RunSeconds, d.Run),
	}
}

// maxSeconds is what a duration can hold, 292 years. More would come out as a negative time, and expire at once.
const maxSeconds = int64(math.MaxInt64 / time.Second)

func seconds(n *int64, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	return time.Duration(min(max(*n, -maxSeconds), maxSeconds)) * time.Second
}

// initialExecutors is how many executors the application starts with, as far as the typed fields or sparkConf say.
func initialExecutors(spec *v1beta2.SparkApplicationSpec) int32 {
	number := func(field *int32, key string) (int32, bool) {
		if field != nil {
			return *field, true
		}
		n, err := strconv.ParseInt(strings.TrimSpace(spec.SparkConf[key]), 10, 32)
		return int32(n), err == nil
	}
	instances, set := number(spec.Executor.Instances, "spark.executor.instances")
	if dynamicAllocationEnabled(spec) {
		var typed v1beta2.DynamicAllocation
		if spec.DynamicAllocation != nil {
			typed = *spec.DynamicAllocation
		}
		// Spark starts with the largest of the three (Utils.getDynamicAllocationInitialExecutors).
		initial, _ := number(typed.InitialExecutors, "spark.dynamicAllocation.initialExecutors")
		least, _ := number(typed.MinExecutors, "spark.dynamicAllocation.minExecutors")
		return max(initial, least, instances)
	}
	if !set {
		return 1
	}
	return instances
}

func dynamicAllocationEnabled(spec *v1beta2.SparkApplicationSpec) bool {
	if d := spec.DynamicAllocation; d != nil && d.Enabled {
		return true
	}
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf["spark.dynamicAllocation.enabled"]), "true")
}

// decodeMemory reads back what encodeMemory stored. A status of another operator, which has no memory of ours, is read by its state.
func decodeMemory(s *v1beta2.SparkApplicationStatus) lifecycle.Memory {
	m := lifecycle.Memory{
		AttemptID:   s.SubmissionID,
		Runs:        s.ExecutionAttempts,
		Submissions: s.SubmissionAttempts,
	}
	o := s.Operator
	if o == nil {
		adoptState(&m, s)
		return m
	}
	m.Phase, m.Since, m.Attempt = lifecycle.Phase(o.Phase), moment(o.Since), o.Attempt
	m.SubmittedAt, m.EndedAt, m.NextAttempt = moment(o.SubmittedAt), moment(o.EndedAt), moment(o.NextAttemptTime)
	m.Outcome = lifecycle.Outcome(o.Outcome)
	if o.SpecHash != "" {
		m.SpecHash = strconv.Itoa(int(o.HashVersion)) + ":" + o.SpecHash
	}
	if o.Cause != nil {
		m.Cause = lifecycle.Cause{Reason: o.Cause.Reason, Message: o.Cause.Message}
	}
	return m
}

// adoptState reads the state that another operator of this API left. Without a spec hash nothing is taken for an edit, so nothing restarts.
func adoptState(m *lifecycle.Memory, s *v1beta2.SparkApplicationStatus) {
	if s.AppState.State == v1beta2.ApplicationStateNew {
		return
	}
	m.Attempt = max(1, s.SubmissionAttempts)
	m.SubmittedAt, m.EndedAt = s.LastSubmissionAttemptTime.UTC(), s.TerminationTime.UTC()
	m.Since = m.SubmittedAt
	if !m.EndedAt.IsZero() {
		m.Since = m.EndedAt
	}
	adopted, ok := adopted[s.AppState.State]
	if !ok {
		adopted.phase = lifecycle.Launched
	}
	m.Phase, m.Outcome = adopted.phase, adopted.outcome
	if m.Outcome != lifecycle.Undecided && m.Outcome != lifecycle.Succeeded {
		m.Cause = lifecycle.Cause{Reason: string(m.Outcome), Message: s.AppState.ErrorMessage}
	}
}

// adopted is what a state means that was written by another operator.
var adopted = map[v1beta2.ApplicationStateType]struct {
	phase   lifecycle.Phase
	outcome lifecycle.Outcome
}{
	v1beta2.ApplicationStateSubmitted:        {lifecycle.Launched, lifecycle.Undecided},
	v1beta2.ApplicationStateRunning:          {lifecycle.Running, lifecycle.Undecided},
	v1beta2.ApplicationStateUnknown:          {lifecycle.Unknown, lifecycle.Undecided},
	v1beta2.ApplicationStateCompleted:        {lifecycle.Done, lifecycle.Succeeded},
	v1beta2.ApplicationStateFailed:           {lifecycle.Done, lifecycle.Failed},
	v1beta2.ApplicationStateSucceeding:       {lifecycle.Ended, lifecycle.Succeeded},
	v1beta2.ApplicationStateFailing:          {lifecycle.Ended, lifecycle.Failed},
	v1beta2.ApplicationStateFailedSubmission: {lifecycle.Ended, lifecycle.Refused},
	v1beta2.ApplicationStatePendingRerun:     {lifecycle.Waiting, lifecycle.Undecided},
	v1beta2.ApplicationStateInvalidating:     {lifecycle.Editing, lifecycle.Undecided},
	v1beta2.ApplicationStateSuspending:       {lifecycle.Suspending, lifecycle.Undecided},
	v1beta2.ApplicationStateSuspended:        {lifecycle.Suspended, lifecycle.Undecided},
	v1beta2.ApplicationStateResuming:         {lifecycle.Resuming, lifecycle.Undecided},
}

func moment(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
