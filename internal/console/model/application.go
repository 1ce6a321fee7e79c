package model

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/timeline"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Application is the page of an application of either API group. Connect servers have the same parts.
type Application struct {
	Object
	Timeline  timeline.Timeline `json:"timeline"`
	Executors Executors         `json:"executors"`
	Usage     *Usage            `json:"usage,omitempty"`
	// Start has the parts of the start of the current or last attempt.
	Start []startup.Step `json:"start,omitempty"`
}

// ApplicationOf returns the page of an application at the given time. The start lacks the times of Spark.
func ApplicationOf(object client.Object, pods []corev1.Pod, events []corev1.Event, now time.Time) Application {
	s := kube.Summarize(object)
	a := Application{Object: ObjectOf(object, pods, events), Timeline: timeline.Of(object, now), Usage: UsageOf(object, now)}
	a.Executors, a.Start = ExecutorsOf(a.Pods, s.Usage, now), startup.Steps(&s, nil)
	a.Executors.addFailures(a.Events)
	return a
}

// Executors is the number of executors with a node over time: as the status stores it until Stored, and then of the
// pods that exist.
type Executors struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Stored is absent if the status stores nothing. Then all points are those of the pods that exist.
	Stored time.Time `json:"stored,omitzero"`
	Points []Point   `json:"points,omitempty"`
	Most   int       `json:"most"`
	// Failures are the executors that failed, oldest first.
	Failures []Pod `json:"failures,omitempty"`
	Pods     []Pod `json:"-"`
}

// Point is a change of the number of executors that have a node.
type Point struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}

// change is a change of the number of executors.
type change struct {
	at time.Time
	by int
}

// ExecutorsOf returns the number of executors over time, from the pods that exist and from the stored usage, which may
// be nil.
func ExecutorsOf(pods []Pod, stored *statusv1.OperatorUsage, now time.Time) (e Executors) {
	changes, last := e.addStored(stored, now)
	for _, p := range pods {
		if p.Executor == "" {
			continue
		}

		e.Pods = append(e.Pods, p)
		if e.Stored.IsZero() && (e.From.IsZero() || p.Created.Before(e.From)) {
			e.From = p.Created
		}

		if !p.From.IsZero() {
			changes = append(changes, change{latest(p.From, e.Stored), 1})
			if !p.Until.IsZero() {
				changes = append(changes, change{latest(latest(p.Until, p.From), e.Stored), -1})
				e.To = latest(e.To, p.Until)
			}
		}

		if p.Phase == string(corev1.PodFailed) {
			e.Failures = append(e.Failures, p)
		}

		if !p.Over() {
			e.To = now
		}
	}

	slices.SortStableFunc(e.Failures, func(a, b Pod) int { return a.Ended.Compare(b.Ended) })
	slices.SortStableFunc(e.Pods, func(a, b Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })

	if len(e.Pods) > 0 { // of which those count that run; without any, the user perhaps may not read them
		changes = append(changes, change{e.Stored, -last})
	}

	e.addPoints(changes)
	return e
}

// addStored sets the times of the stored steps. It returns their changes and the last number of executors.
func (e *Executors) addStored(stored *statusv1.OperatorUsage, now time.Time) (changes []change, last int) {
	if stored == nil || stored.Time == nil {
		return nil, 0
	}

	steps := usage.ParseSteps(stored.ExecutorSteps)
	if len(steps) == 0 {
		return nil, 0
	}

	e.Stored = earliest(stored.Time.Time, now).UTC()
	e.From, e.To = earliest(time.Unix(steps[0].At, 0).UTC(), e.Stored), e.Stored

	for _, s := range steps {
		changes = append(changes, change{earliest(time.Unix(s.At, 0).UTC(), e.Stored), int(s.N) - last})
		last = int(s.N)
	}
	return changes, last
}

// addPoints adds a point for each time at which the number of executors changes.
func (e *Executors) addPoints(changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })

	n, before := 0, 0
	for i, c := range changes {
		if n += c.by; n == before || i+1 < len(changes) && changes[i+1].at.Equal(c.at) {
			continue
		}

		before, e.Most = n, max(e.Most, n)
		e.Points = append(e.Points, Point{c.at, n})
	}
}

// addFailures adds the failures of executors whose pods Spark has deleted, as far as Kubernetes still has the Events.
func (e *Executors) addFailures(events []Event) {
	for _, event := range events {
		name, reason, _ := strings.Cut(event.Message, ": ")
		if event.Reason != dialect.EventExecutorFailed || slices.ContainsFunc(e.Failures, func(p Pod) bool { return p.Name == name }) {
			continue
		}

		id := name[strings.LastIndex(name, "-")+1:]
		e.Failures = append(e.Failures, Pod{Name: name, Executor: id, Phase: string(corev1.PodFailed), Reason: reason, Created: event.At, Ended: event.At})
	}

	slices.SortStableFunc(e.Failures, func(a, b Pod) int { return a.Ended.Compare(b.Ended) })
}

// Over reports whether the pod has ended.
func (p *Pod) Over() bool {
	return p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
}

// PodOf returns what pages show about a pod.
func PodOf(pod *corev1.Pod) Pod {
	p := Pod{
		Name: bounds.Line(pod.Name), Role: bounds.Line(pod.Labels[submit.RoleLabel]), Executor: bounds.Line(pod.Labels[submit.ExecutorIDLabel]),
		Phase: string(pod.Status.Phase), Reason: bounds.Line(pod.Status.Reason), Node: bounds.Line(pod.Spec.NodeName), Created: pod.CreationTimestamp.Time.UTC(),
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

	p.From, p.Until = p.Started, p.Ended
	if use := lifecycle.Use(pod); use.From > 0 {
		p.From, p.Until = time.Unix(use.From, 0).UTC(), time.Time{}
		if use.Until > 0 {
			p.Until = time.Unix(use.Until, 0).UTC()
		}
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
		if at := state.Running.StartedAt.Time.UTC(); p.Started.IsZero() || at.Before(p.Started) {
			p.Started = at
		}
	case state.Terminated != nil:
		if at := state.Terminated.StartedAt.Time.UTC(); p.Started.IsZero() || at.Before(p.Started) {
			p.Started = at
		}

		p.Ended = latest(p.Ended, state.Terminated.FinishedAt.Time.UTC())
		if state.Terminated.ExitCode != 0 {
			p.Reason = cmp.Or(p.Reason, bounds.Line(state.Terminated.Reason)+" (exit code "+strconv.Itoa(int(state.Terminated.ExitCode))+")")
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
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
	// Search is a text that the lines have. The search is in the whole logs.
	Search string `json:"q,omitempty"`
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
	// Chosen has tasks of the stage that the address names.
	Chosen *Tasks `json:"chosen,omitempty"`
	// Missing says why there are none.
	Missing string      `json:"missing,omitempty"`
	Fresh   table.Fresh `json:"fresh"`
}

// Stage is a stage as Spark's REST API describes it.
type Stage struct {
	ID           int           `json:"id"`
	Attempt      int           `json:"attempt"`
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

// StageName returns the name of a stage's attempt, as Spark's web UI has it.
func StageName(stage, attempt int) string {
	if attempt == 0 {
		return strconv.Itoa(stage)
	}
	return fmt.Sprintf("%d (retry %d)", stage, attempt)
}

// TasksOf returns the end of the address with the tasks of a stage's attempt that have a status.
func TasksOf(stage, attempt int, status string) string {
	query := url.Values{"stage": {fmt.Sprintf("%d.%d", stage, attempt)}}
	if status != "" {
		query.Set("status", status)
	}
	return "?" + query.Encode() + "#tasks"
}

// TaskStatuses are the statuses by which tasks can be selected; empty: all. Killed tasks count as failed.
var TaskStatuses = []string{"", "running", "failed"}

// Tasks are the longest tasks of a stage.
type Tasks struct {
	Stage   int    `json:"stage"`
	Attempt int    `json:"attempt"`
	Status  string `json:"status,omitempty"` // one of TaskStatuses
	Tasks   []Task `json:"tasks,omitempty"`
	More    bool   `json:"more,omitempty"` // the stage has more tasks
	// Median, Most and Longest are the durations within which a half, 95 % and all of the complete tasks ran.
	Median  time.Duration `json:"median,omitempty"`
	Most    time.Duration `json:"most,omitempty"`
	Longest time.Duration `json:"longest,omitempty"`
	Path    string        `json:"path,omitempty"` // of the stage in the Spark UI
	// Missing says why there are no tasks.
	Missing string `json:"missing,omitempty"`
}

// Task is a task as Spark's REST API describes it.
type Task struct {
	Index        int           `json:"index"`
	Attempt      int           `json:"attempt,omitempty"`
	Status       string        `json:"status"`
	Executor     string        `json:"executor,omitempty"`
	Locality     string        `json:"locality,omitempty"`
	Duration     time.Duration `json:"duration,omitempty"`
	Collected    time.Duration `json:"gcTime,omitempty"`
	InputBytes   int64         `json:"inputBytes,omitempty"`
	ShuffleRead  int64         `json:"shuffleReadBytes,omitempty"`
	ShuffleWrite int64         `json:"shuffleWriteBytes,omitempty"`
	SpilledBytes int64         `json:"spilledBytes,omitempty"`
	Problem      string        `json:"problem,omitempty"`
}

// Spec is the tab with the manifest, the effective spec and the rendered objects.
type Spec struct {
	Manifest  string `json:"manifest"`
	Effective string `json:"effective,omitempty"`
	// Properties are those of the effective configuration with their origins; empty for a cluster.
	Properties []Origin   `json:"properties,omitempty"`
	Origins    []Origin   `json:"origins,omitempty"`
	Rendered   []Rendered `json:"rendered,omitempty"`
	// Attempts are the attempts whose driver pods exist, in their order, and at last Now: what the operator would create.
	Attempts []string `json:"attempts,omitempty"`
	// Changes are the differences between the driver pods of the attempts A and B.
	A       string   `json:"a,omitempty"`
	B       string   `json:"b,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	Missing string   `json:"missing,omitempty"`
}

// Now is the place of the present spec among the attempts.
const Now = "now"

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
