package model

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Application is the page of an application of either API group. Connect servers have the same parts.
type Application struct {
	Object
	Timeline  Timeline  `json:"timeline"`
	Executors Executors `json:"executors"`
	Usage     *Usage    `json:"usage,omitempty"`
	// Start has the parts of the start of the current or last attempt.
	Start []startup.Step `json:"start,omitempty"`
}

// ApplicationOf returns the page of an application at the given time. The start lacks the times of Spark.
func ApplicationOf(object client.Object, pods []corev1.Pod, events []corev1.Event, now time.Time) Application {
	s := kube.Summarize(object)
	a := Application{Object: ObjectOf(object, pods, events), Timeline: TimelineOf(object, now), Usage: UsageOf(object, now)}
	a.Executors, a.Start = ExecutorsOf(a.Pods, now), startup.Steps(&s, nil)
	return a
}

// Activity is what an application does in a phase, in as much detail as a timeline shows.
type Activity string

// These are the values of Activity.
const (
	Queued    Activity = "queued"   // a queue has not given quota yet
	Pending   Activity = "pending"  // the driver does not run yet
	Starting  Activity = "starting" // the driver runs; too few executors run
	Running   Activity = "running"
	Degraded  Activity = "degraded" // fewer executors run than wanted, or the node of the driver is lost
	Retrying  Activity = "retrying" // waits until the next attempt
	Stopping  Activity = "stopping"
	Paused    Activity = "paused" // suspended
	Succeeded Activity = "succeeded"
	Failed    Activity = "failed"
)

// Timeline is what an object did since its creation, oldest first and without gaps.
type Timeline struct {
	From time.Time `json:"from"`
	// To is the end of the last attempt or, if the object has not ended, the present.
	To       time.Time `json:"to"`
	Segments []Segment `json:"segments"`
	// Cut is true if the status no longer has the oldest phases.
	Cut bool `json:"cut,omitempty"`
}

// Segment is a time in which an object was in one phase.
type Segment struct {
	Activity Activity  `json:"activity"`
	Phase    string    `json:"phase"`
	Reason   string    `json:"reason,omitempty"`
	Attempt  int32     `json:"attempt,omitempty"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
}

// Attempt is the part of a timeline that belongs to one attempt.
type Attempt struct {
	Number   int32
	Segments []Segment
}

// Attempts returns the segments by attempt, the first attempt first.
func (t *Timeline) Attempts() (out []Attempt) {
	for _, s := range t.Segments {
		if len(out) == 0 || out[len(out)-1].Number != s.Attempt {
			out = append(out, Attempt{Number: s.Attempt})
		}

		last := &out[len(out)-1]
		last.Segments = append(last.Segments, s)
	}
	return out
}

// TimelineOf returns the timeline of an object whose status has a history.
func TimelineOf(object client.Object, now time.Time) Timeline {
	s := kube.Summarize(object)
	if s.Over() && !s.Ended.IsZero() {
		now = s.Ended
	}
	return timelineOf(&s, now)
}

// timelineOf returns the timeline of an object until a time.
func timelineOf(s *kube.Summary, until time.Time) Timeline {
	t := Timeline{From: s.Created.UTC(), To: until.UTC()}

	history := slices.DeleteFunc(slices.Clone(s.History), func(h statusv1.OperatorTransition) bool { return h.At == nil })
	slices.SortStableFunc(history, func(a, b statusv1.OperatorTransition) int { return a.At.Compare(b.At.Time) })
	t.Cut = len(history) >= statusv1.MaxHistory

	if len(history) == 0 || history[0].At.After(t.From) && !t.Cut {
		first := statusv1.OperatorTransition{At: microTime(t.From), Attempt: 1}
		history = slices.Insert(history, 0, first)
	} else if t.Cut {
		t.From = history[0].At.UTC()
	}

	for i := range history {
		h := &history[i]

		to := t.To
		if i+1 < len(history) {
			to = history[i+1].At.UTC()
		}

		from := latest(t.From, h.At.UTC())
		if to = earliest(to, t.To); !to.After(from) {
			continue
		}

		t.Segments = append(t.Segments, Segment{
			Activity: activityOf(h, s.Result), Phase: cmp.Or(bounds.Line(h.Phase), "New"), Reason: bounds.Line(h.Reason), Attempt: max(h.Attempt, 1), From: from, To: to,
		})
	}
	return t
}

// activityOf returns what an application does after a transition. The result of the object decides what an end is.
func activityOf(h *statusv1.OperatorTransition, result kube.Result) Activity {
	phase := lifecycle.Phase(h.Phase)
	switch {
	case phase == lifecycle.New, phase == lifecycle.Launched, phase == lifecycle.Resuming:
		if lifecycle.IsQuotaWait(h.Reason) {
			return Queued
		}
		return Pending
	case phase == lifecycle.Waiting && lifecycle.IsQuotaWait(h.Reason):
		return Queued
	case phase == lifecycle.Waiting:
		return Retrying
	case phase == lifecycle.Started, phase == lifecycle.Ready, phase == lifecycle.Scaling:
		return Starting
	case phase == lifecycle.Running:
		return Running
	case phase == lifecycle.Partial, phase == lifecycle.Below, phase == lifecycle.Unknown:
		return Degraded
	case phase == lifecycle.Suspended:
		return Paused
	case phase.Terminal() && result == kube.Succeeded:
		return Succeeded
	case phase.Terminal():
		return Failed
	}
	return Stopping
}

// Executors is the number of executors over time, from the pods that still exist.
type Executors struct {
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Points []Point   `json:"points,omitempty"`
	Most   int       `json:"most"`
	// Failures are the executors that failed, oldest first.
	Failures []Pod `json:"failures,omitempty"`
	Pods     []Pod `json:"-"`
}

// Point is a change of the number of executors that run.
type Point struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}

// ExecutorsOf returns the number of running executors over time.
func ExecutorsOf(pods []Pod, now time.Time) (e Executors) {
	type change struct {
		at time.Time
		by int
	}

	var changes []change
	for _, p := range pods {
		if p.Executor == "" {
			continue
		}

		e.Pods = append(e.Pods, p)
		if e.From.IsZero() || p.Created.Before(e.From) {
			e.From = p.Created
		}

		if !p.Started.IsZero() {
			changes = append(changes, change{p.Started, 1})
			if !p.Ended.IsZero() {
				changes = append(changes, change{latest(p.Ended, p.Started), -1})
				e.To = latest(e.To, p.Ended)
			}
		}

		if p.Phase == string(corev1.PodFailed) {
			e.Failures = append(e.Failures, p)
		}

		if !p.Over() {
			e.To = now
		}
	}

	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), b.by-a.by) })
	slices.SortStableFunc(e.Failures, func(a, b Pod) int { return a.Ended.Compare(b.Ended) })
	slices.SortStableFunc(e.Pods, func(a, b Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })

	n := 0
	for _, c := range changes {
		n += c.by
		if last := len(e.Points) - 1; last >= 0 && e.Points[last].At.Equal(c.at) {
			e.Points[last].N = n
		} else {
			e.Points = append(e.Points, Point{c.at, n})
		}

		e.Most = max(e.Most, n)
	}
	return e
}

// Over reports whether the pod has ended.
func (p *Pod) Over() bool {
	return p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
}

// PodOf returns what pages show about a pod.
func PodOf(pod *corev1.Pod) Pod {
	p := Pod{
		Name: bounds.Line(pod.Name), Role: bounds.Line(pod.Labels[submit.RoleLabel]), Executor: bounds.Line(pod.Labels[submit.ExecutorIDLabel]),
		Phase: string(pod.Status.Phase), Reason: bounds.Line(pod.Status.Reason), Node: bounds.Line(pod.Spec.NodeName), Created: utc(pod.CreationTimestamp.Time),
	}
	if n, err := strconv.ParseInt(pod.Labels[lifecycle.AttemptLabel], 10, 32); err == nil {
		p.Attempt = int32(n)
	}

	for i := range pod.Spec.Containers {
		requests := pod.Spec.Containers[i].Resources.Requests
		p.CPUMillis += requests.Cpu().MilliValue()
		p.MemoryBytes += requests.Memory().Value()
	}

	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			p.Reason = cmp.Or(p.Reason, bounds.Line(condition.Reason+": "+condition.Message))
		}
	}

	for i := range pod.Status.ContainerStatuses {
		p.addContainer(&pod.Status.ContainerStatuses[i])
	}
	return p
}

// addContainer adds the times and the reason of a container. A pod's time is that of its first start and its last end.
func (p *Pod) addContainer(status *corev1.ContainerStatus) {
	p.Restarts += status.RestartCount

	switch state := status.State; {
	case state.Waiting != nil && state.Waiting.Reason != "PodInitializing" && state.Waiting.Reason != "ContainerCreating":
		p.Reason = cmp.Or(p.Reason, bounds.Line(state.Waiting.Reason))
	case state.Running != nil:
		if at := utc(state.Running.StartedAt.Time); p.Started.IsZero() || at.Before(p.Started) {
			p.Started = at
		}
	case state.Terminated != nil:
		if at := utc(state.Terminated.StartedAt.Time); p.Started.IsZero() || at.Before(p.Started) {
			p.Started = at
		}

		p.Ended = latest(p.Ended, utc(state.Terminated.FinishedAt.Time))
		if state.Terminated.ExitCode != 0 {
			p.Reason = cmp.Or(p.Reason, bounds.Line(state.Terminated.Reason)+" (exit code "+strconv.Itoa(int(state.Terminated.ExitCode))+")")
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Logs is the tab with the logs of pods.
type Logs struct {
	Sources []LogSource `json:"sources"`
	// Tail is the number of lines that are read from the end; 0 means the default.
	Tail   int  `json:"tail,omitempty"`
	Follow bool `json:"follow,omitempty"`
	// Missing says why there is no log.
	Missing string `json:"missing,omitempty"`
}

// LogSource is a log that can be shown: of a pod, or a kept one.
type LogSource struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Kept     bool   `json:"kept,omitempty"`
	Selected bool   `json:"selected,omitempty"`
	// Stream is the address of the server-sent events with the lines of the log.
	Stream string `json:"stream,omitempty"`
	// Text is the log, if it is not streamed.
	Text string `json:"text,omitempty"`
}

// Stages is the tab with the stages that Spark's REST API shows.
type Stages struct {
	Stages []Stage `json:"stages"`
	// Missing says why there are none.
	Missing string `json:"missing,omitempty"`
	Fresh   Fresh  `json:"fresh"`
}

// Stage is a stage as Spark's REST API describes it.
type Stage struct {
	ID           int           `json:"id"`
	Name         string        `json:"name"`
	Status       string        `json:"status"`
	Tasks        int           `json:"tasks"`
	Active       int           `json:"active"`
	Complete     int           `json:"complete"`
	FailedTasks  int           `json:"failed"`
	Duration     time.Duration `json:"duration,omitempty"`
	InputBytes   int64         `json:"inputBytes,omitempty"`
	ShuffleRead  int64         `json:"shuffleReadBytes,omitempty"`
	ShuffleWrite int64         `json:"shuffleWriteBytes,omitempty"`
	SpilledBytes int64         `json:"spilledBytes,omitempty"`
	Problem      string        `json:"problem,omitempty"` // why it failed
}

// Spec is the tab with the manifest, the effective spec and the rendered objects.
type Spec struct {
	Manifest  string     `json:"manifest"`
	Effective string     `json:"effective,omitempty"`
	Origins   []Origin   `json:"origins,omitempty"`
	Rendered  []Rendered `json:"rendered,omitempty"`
	// Changes are the differences between the spec of the last attempt and the present spec, or between two attempts.
	Changes []Change `json:"changes,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// Origin says where a value of the effective spec comes from.
type Origin struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Rendered is an object that the operator creates.
type Rendered struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

// Change is a difference of one value.
type Change struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}
