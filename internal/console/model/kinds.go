package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// Schedule is the page of a ScheduledSparkApplication.
type Schedule struct {
	Object
	Schedule string `json:"schedule"`
	TimeZone string `json:"timeZone,omitempty"`
	Policy   string `json:"concurrencyPolicy"`
	// Runs are the runs that still exist or whose records were kept, newest first.
	Runs []Run `json:"runs,omitempty"`
	// Upcoming are the next times at which the schedule is due.
	Upcoming []time.Time `json:"upcoming,omitempty"`
	// Missed are the times at which no run started, newest first.
	Missed []Missed `json:"missed,omitempty"`
	// Compared are the two runs that the page compares; nil for none.
	Compared *Compared `json:"compared,omitempty"`
}

// Run is a run of a schedule.
type Run struct {
	Name     string             `json:"name"`
	Path     string             `json:"path,omitempty"` // of its page, if it still exists
	Due      time.Time          `json:"due,omitzero"`
	Started  time.Time          `json:"started,omitzero"`
	Ended    time.Time          `json:"ended,omitzero"`
	Result   kube.Result        `json:"result"`
	Reason   string             `json:"reason,omitempty"`
	Message  string             `json:"message,omitempty"`
	Attempts int32              `json:"attempts,omitempty"`
	Peak     int32              `json:"peakExecutors,omitempty"`
	SpecHash string             `json:"specHash,omitempty"`
	Image    string             `json:"image,omitempty"`
	Spark    string             `json:"sparkVersion,omitempty"`
	Usage    statusv1.UsageSums `json:"usage,omitzero"`
}

// Duration returns how long the run has lasted until the given time.
func (r *Run) Duration(now time.Time) time.Duration {
	row := table.Row{Started: r.Started, Ended: r.Ended}
	return row.Duration(now)
}

// At returns the time of the run in a calendar.
func (r *Run) At() time.Time {
	if !r.Due.IsZero() {
		return r.Due
	}
	return r.Started
}

// Missed is a time at which no run started.
type Missed struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Why    string    `json:"why"`
}

// Compared is the comparison of two runs.
type Compared struct {
	A       Run      `json:"a"`
	B       Run      `json:"b"`
	Changes []Change `json:"changes,omitempty"` // of the spec
	// Missing says why the specs are not compared.
	Missing string `json:"missing,omitempty"`
}

// RunOf returns a run from its record. The second argument is true if its custom resource exists.
func RunOf(r *run.Record, exists bool, now time.Time) Run {
	out := Run{
		Name: bounds.Line(r.Name), Due: schedule.TickOf(r.Schedule, r.Name).UTC(), Started: r.Started.UTC(), Ended: r.Ended.UTC(), Reason: bounds.Line(r.Reason),
		Message: bounds.Line(r.Message), Attempts: r.Attempts, Peak: r.PeakExecutors, SpecHash: bounds.Line(r.SpecHash), Image: bounds.Line(r.Image),
		Spark: bounds.Line(r.SparkVersion), Usage: r.Usage, Result: kube.Running,
	}
	switch {
	case r.Outcome == "Succeeded":
		out.Result = kube.Succeeded
	case r.Outcome != "":
		out.Result = kube.Failed
	case r.Started.IsZero():
		out.Result = kube.Pending
	}

	if exists {
		out.Path = table.ObjectPath(kinds.SparkApplication.FullName(), r.Namespace, r.Name)
	}
	return out
}

// maxUpcoming is the number of next times that the page of a schedule shows.
const maxUpcoming = 40

// maxDays is how far ahead the page of a schedule shows its next times.
const maxDays = 15

// ScheduleOf returns the page of a schedule. The runs are in any order. The function zones looks up a time zone.
func ScheduleOf(s *v1beta2.ScheduledSparkApplication, runs []Run, events []corev1.Event, zones schedule.Zones, now time.Time) Schedule {
	out := Schedule{
		Object: ObjectOf(s, nil, events), Schedule: bounds.Line(s.Spec.Schedule), TimeZone: bounds.Line(cmp.Or(s.Spec.TimeZone, "UTC")),
		Policy: bounds.Line(string(cmp.Or(s.Spec.ConcurrencyPolicy, v1beta2.ConcurrencyAllow))), Runs: slices.Clone(runs),
	}
	slices.SortStableFunc(out.Runs, func(a, b Run) int { return b.At().Compare(a.At()) })

	missed := []string{schedule.ReasonMissed, schedule.ReasonSkipped, schedule.ReasonRefused, schedule.ReasonReplaced}
	for _, e := range out.Events {
		if slices.Contains(missed, e.Reason) {
			out.Missed = append(out.Missed, Missed{e.At, e.Reason, e.Message})
		}
	}

	times, err := schedule.Parse(s.Spec.Schedule, s.Spec.TimeZone, zones)
	if err != nil || s.Spec.Suspend != nil && *s.Spec.Suspend {
		return out
	}

	since := s.CreationTimestamp.Time
	if o := s.Status.Operator; o != nil && o.Since != nil {
		since = o.Since.Time
	}

	out.addUnstarted(s, times.Next, since, now)

	for at, end := now, now.AddDate(0, 0, maxDays); len(out.Upcoming) < maxUpcoming; {
		if at = times.Next(since, at); at.IsZero() || at.After(end) {
			break
		}

		out.Upcoming = append(out.Upcoming, at.UTC())
	}
	return out
}

// startPatience is how long a run may be due before it counts as missed.
const startPatience = time.Minute

// maxDue is the largest number of times that are looked at, which is a week of one each minute.
const maxDue = 7 * 24 * 60

// addUnstarted adds the times since the last run that was started or skipped at which a run was due.
func (s *Schedule) addUnstarted(from *v1beta2.ScheduledSparkApplication, next func(since, at time.Time) time.Time, since, now time.Time) {
	o := from.Status.Operator
	if o == nil {
		return
	}

	missed := Missed{Reason: "NotStarted", Why: "The run was due, and has not started."}
	if o.Cause != nil {
		missed.Reason, missed.Why = bounds.Line(o.Cause.Reason), bounds.Line(o.Cause.Message)
	}

	var due []time.Time
	for at := latest(since, dialect.DecodeTime(o.LastTick)); len(due) < maxDue; {
		if at = next(since, at); at.IsZero() || at.After(now.Add(-startPatience)) {
			break
		}

		due = append(due, at.UTC())
	}

	for _, at := range due[max(0, len(due)-maxUpcoming):] {
		missed.At = at
		s.Missed = append(s.Missed, missed)
	}

	slices.SortStableFunc(s.Missed, func(a, b Missed) int { return b.At.Compare(a.At) })
}

// Day is a day of a calendar, with the runs and the next times in it.
type Day struct {
	Date     time.Time
	Runs     []Run
	Upcoming []time.Time
	Missed   []Missed
	Today    bool
}

// Calendar returns the weeks from four weeks ago until the end of the next week, each from Monday to Sunday.
func (s *Schedule) Calendar(now time.Time) (weeks [6][7]Day) {
	today := now.UTC().Truncate(24 * time.Hour)

	first := today.AddDate(0, 0, -(int(today.Weekday())+6)%7-4*7)
	day := func(at time.Time) *Day {
		n := int(at.Sub(first) / (24 * time.Hour))
		if at.Before(first) || n >= len(weeks)*7 {
			return &Day{}
		}
		return &weeks[n/7][n%7]
	}

	for i := range len(weeks) * 7 {
		weeks[i/7][i%7].Date = first.AddDate(0, 0, i)
	}

	day(today).Today = true

	for _, r := range s.Runs {
		d := day(r.At())
		d.Runs = append(d.Runs, r)
	}

	for _, at := range s.Upcoming {
		d := day(at)
		d.Upcoming = append(d.Upcoming, at)
	}

	for _, m := range s.Missed {
		d := day(m.At)
		d.Missed = append(d.Missed, m)
	}
	return weeks
}

// Connect is the page of a Spark Connect server.
type Connect struct {
	Application
	// Address is the address for clients in the cluster; empty before there is a Service.
	Address  string    `json:"address,omitempty"`
	Python   string    `json:"python,omitempty"`
	Forward  string    `json:"forward,omitempty"` // the command that makes the server reachable from the user's machine
	Sessions []Session `json:"sessions,omitempty"`
	// NoSessions says why there is no list of sessions.
	NoSessions string `json:"noSessions,omitempty"`
}

// Session is a session of a Connect server.
type Session struct {
	ID      string    `json:"id"`
	User    string    `json:"user,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Queries int       `json:"queries,omitempty"`
}

// ConnectOf returns the page of a Connect server.
func ConnectOf(c *v1alpha1.SparkConnect, pods []corev1.Pod, events []corev1.Event, now time.Time) Connect {
	out := Connect{Application: ApplicationOf(c, pods, events, now), Forward: string(kube.Hint("connect", c))}
	if service := c.Status.Server.ServiceName; service != "" {
		out.Address = bounds.Line(fmt.Sprintf("sc://%s.%s:%d", service, c.Namespace, connect.ServerPort))
		out.Python = "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.remote(" + strconv.Quote(out.Address) + ").getOrCreate()\nspark.range(10).show()\n"
	}
	return out
}

// Cluster is the page of a SparkCluster.
type Cluster struct {
	Object
	Masters sparkv1.MemberCounts `json:"masters"`
	Workers sparkv1.MemberCounts `json:"workers"`
	Least   int64                `json:"minWorkers"`
	Most    int64                `json:"maxWorkers"`
	// Generation is that of the spec that the operator applies. The roll-out to it began and completed at these times.
	Generation int64         `json:"generation,omitempty"`
	Began      time.Time     `json:"began,omitzero"`
	Completed  time.Time     `json:"completed,omitzero"`
	States     []StateChange `json:"states,omitempty"` // newest first
	// Applications are those that the master's REST shows.
	Applications   []ClusterApplication `json:"applications,omitempty"`
	NoApplications string               `json:"noApplications,omitempty"` // why there is no list
}

// StateChange is a state that a cluster entered.
type StateChange struct {
	State   string    `json:"state"`
	At      time.Time `json:"at,omitzero"`
	Message string    `json:"message,omitempty"`
}

// ClusterApplication is an application on a standalone cluster.
type ClusterApplication struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	User    string    `json:"user,omitempty"`
	State   string    `json:"state"`
	Cores   int       `json:"cores"`
	Started time.Time `json:"started,omitzero"`
}

// ClusterOf returns the page of a cluster.
func ClusterOf(c *sparkv1.SparkCluster, pods []corev1.Pod, events []corev1.Event) Cluster {
	workers := c.Spec.ClusterTolerations.InstanceConfig

	out := Cluster{Object: ObjectOf(c, pods, events), Least: workers.MinWorkers, Most: workers.MaxWorkers}
	if m := c.Status.Masters; m != nil {
		out.Masters = *m
	}

	if w := c.Status.Workers; w != nil {
		out.Workers = *w
	}

	if o := c.Status.Operator; o != nil {
		out.Generation, out.Began, out.Completed = o.Generation, dialect.DecodeTime(o.BegunAt), dialect.DecodeTime(o.CompleteAt)
	}

	for _, state := range c.Status.StateTransitionHistory {
		at, _ := time.Parse(time.RFC3339, state.LastTransitionTime)
		out.States = append(out.States, StateChange{bounds.Line(string(state.CurrentStateSummary)), at.UTC(), bounds.Line(state.Message)})
	}

	slices.SortStableFunc(out.States, func(a, b StateChange) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.State, b.State)) })
	return out
}

// Scales reports whether an autoscaler chooses the number of workers.
func (c *Cluster) Scales() bool { return c.Most > c.Least }

func usageAt(stored *statusv1.OperatorUsage, now time.Time) *statusv1.OperatorUsage {
	return usage.At(stored, now)
}
