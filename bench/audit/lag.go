package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Lags are how far the operator was behind, by the API server's own clock.
type Lags struct {
	// Launch is from an application's creation to its first driver pod's, both when they were answered.
	Launch []time.Duration
	// Driver is from a driver pod's status that was written (it runs, it ended) to the operator's write of an application's status that reflects it, both when they
	// were answered. A write may be answered before what caused it is: that is 0.
	Driver []time.Duration
	// Executor is the same of executors. What tells of executors alone the operator puts off on purpose, until they are quiet, so that many are one write.
	Executor []time.Duration
	// Launched is from the first application's creation to the last one's first driver pod, both when they were answered.
	Launched time.Duration
	// Unlaunched applications have no driver pod, and Unreflected changes of driver pods no status, up to the end of what is looked at; Untold are those of executors.
	Unlaunched, Unreflected, Untold int
}

// moment is what happened to an application, or to an executor.
type moment struct {
	received, done time.Time
	what           happening
}

type happening int

const (
	created  happening = iota // the application
	launched                  // the pod
	runs                      // the pod, by its status
	ended
	saidRuns // the pod, by the application's status; it or more is reflected
	saidEnded
)

// lagReader collects what lags are computed from.
type lagReader struct {
	apps      map[key][]moment
	executors map[key]*executor
}

// executor is what happened to an executor.
type executor struct {
	app     key
	moments []moment
}

func newLagReader() *lagReader { return &lagReader{map[key][]moment{}, map[key]*executor{}} }

// add looks at a write that is for an application.
func (l *lagReader) add(e *Event, of owned) {
	if !e.OK() {
		return
	}
	at := moment{received: e.Received, done: e.Done}
	o := key{e.Object.Namespace, e.Object.Name}
	switch kind := e.Kind(); {
	case kind == "create sparkapplications":
		l.note(of, o, at, created)
	case kind == "create pods":
		l.note(of, o, at, launched)
	case strings.HasSuffix(kind, " pods/status"):
		if what, ok := phases[phaseOf(e.Body)]; ok {
			l.note(of, o, at, what)
		}
	case strings.HasSuffix(kind, " sparkapplications/status") && e.Actor() == Operator:
		l.said(e, o, at)
	}
}

// note notes what happened to an application or a pod of it.
func (l *lagReader) note(of owned, object key, at moment, what happening) {
	at.what = what
	switch {
	case of.role == "executor":
		x := l.executors[object]
		if x == nil {
			x = &executor{app: of.app}
			l.executors[object] = x
		}
		x.moments = append(x.moments, at)
	case of.role == "driver" || what == created:
		l.apps[of.app] = append(l.apps[of.app], at)
	}
}

// said notes what a write of an application's status tells of its driver and of its executors. A patch has only those that became others.
func (l *lagReader) said(e *Event, app key, at moment) {
	says := statusOf(e.Body)
	if what, ok := states[says.state()]; ok {
		at.what = what
		l.apps[app] = append(l.apps[app], at)
	}
	for name, state := range says.ExecutorState {
		if what, ok := executorStates[state]; ok {
			l.note(owned{app, "executor"}, key{app.namespace, name}, at, what)
		}
	}
}

// status is what is read of a write of an application's status, of either API.
type status struct {
	ApplicationState struct{ State string }               // v1beta2
	CurrentState     struct{ CurrentStateSummary string } // spark.apache.org
	ExecutorState    map[string]string                    // v1beta2
}

func (s status) state() string { return s.ApplicationState.State + s.CurrentState.CurrentStateSummary }

func statusOf(body json.RawMessage) status {
	var app struct{ Status status }
	_ = json.Unmarshal(body, &app) // it says nothing
	return app.Status
}

func phaseOf(body json.RawMessage) string {
	var pod struct{ Status struct{ Phase string } }
	_ = json.Unmarshal(body, &pod) // no phase
	return pod.Status.Phase
}

// executorStates tell the same of an executor (v1beta2.ExecutorState).
var executorStates = map[string]happening{"RUNNING": saidRuns, "COMPLETED": saidEnded, "FAILED": saidEnded}

var phases = map[string]happening{"Running": runs, "Succeeded": ended, "Failed": ended}

// states tell that the driver runs, or that it ended. A state that comes after reflects what was before. The words are those of api/sparkoperator/v1beta2
// (ApplicationStateType) and api/spark/v1 (ApplicationStateSummary).
var states = map[string]happening{
	"RUNNING": saidRuns, "SUCCEEDING": saidEnded, "FAILING": saidEnded, "COMPLETED": saidEnded, "FAILED": saidEnded, "PENDING_RERUN": saidEnded,
	"DriverStarted": saidRuns, "DriverReady": saidRuns, "InitializedBelowThresholdExecutors": saidRuns, "RunningHealthy": saidRuns,
	"RunningWithPartialCapacity": saidRuns, "RunningWithBelowThresholdExecutors": saidRuns,
	"Succeeded": saidEnded, "Failed": saidEnded, "DriverEvicted": saidEnded, "ScheduledToRestart": saidEnded, "ResourceReleased": saidEnded,
	"TerminatedWithoutReleaseResources": saidEnded,
}

// lags computes them from what was seen, for the applications that were created meanwhile. With them come the longest of the drivers' of each application that is past
// the bar.
func (l *lagReader) lags() (out Lags, late map[key]time.Duration) {
	var all launches
	late = map[key]time.Duration{}
	for app, moments := range l.apps {
		if !slices.ContainsFunc(moments, func(m moment) bool { return m.what == created }) {
			delete(l.apps, app)
			continue
		}
		sortMoments(moments)
		out.launch(moments, &all)
		took, missed := reflected(moments, true)
		out.Driver, out.Unreflected = append(out.Driver, took...), out.Unreflected+missed
		if most := figure.Quantile(took, 1); most > MostLag {
			late[app] = most
		}
	}
	for _, x := range l.executors {
		if _, ok := l.apps[x.app]; !ok {
			continue
		}
		sortMoments(x.moments)
		took, missed := reflected(x.moments, false)
		out.Executor, out.Untold = append(out.Executor, took...), out.Untold+missed
	}
	out.Launched = all.last.Sub(all.first)
	return out, late
}

// sortMoments sorts by answers. The log is in that order but for what came at once.
func sortMoments(moments []moment) {
	slices.SortStableFunc(moments, func(a, b moment) int { return a.done.Compare(b.done) })
}

// launches are when the first of some applications was created, and when the last got its driver pod.
type launches struct{ first, last time.Time }

func (a *launches) add(created, launched time.Time) {
	if a.first.IsZero() || created.Before(a.first) {
		a.first = created
	}
	if launched.After(a.last) {
		a.last = launched
	}
}

func (l *Lags) launch(moments []moment, all *launches) {
	of := func(what happening) int {
		return slices.IndexFunc(moments, func(m moment) bool { return m.what == what })
	}
	from, to := of(created), of(launched)
	switch {
	case from < 0: // made before the log, or before what is looked at
	case to < 0:
		l.Unlaunched++
	default:
		l.Launch = append(l.Launch, max(0, moments[to].done.Sub(moments[from].done)))
		all.add(moments[from].done, moments[to].done)
	}
}

// reflected pairs every first word of a pod's phase with the first write that reflects it, and returns how long each took and how many have none. What was said
// before is of another pod where several follow each other; of an executor it reflects too: what a driver leaves that ended well is told of before it is over.
func reflected(moments []moment, follow bool) (took []time.Duration, missed int) {
	last := launched
	for _, m := range moments {
		switch m.what {
		case launched:
			last = launched
		case runs, ended:
			if m.what == last {
				continue // it said so before
			}
			last = m.what
			want := saidRuns
			if m.what == ended {
				want = saidEnded
			}
			// From when it was received: the operator may be told of it, and write, before the node has its answer.
			at := slices.IndexFunc(moments, func(s moment) bool { return s.what >= want && (!follow || !s.done.Before(m.received)) })
			if at < 0 {
				missed++
				continue
			}
			took = append(took, max(0, moments[at].done.Sub(m.done)))
		}
	}
	return took, missed
}

// Figures are the lags as figures of a scenario and case, in seconds.
func (l Lags) Figures(scenario, of string) []figure.Figure {
	var out []figure.Figure
	add := func(name string, value float64, unit string) {
		out = append(out, figure.Figure{Scenario: scenario, Case: of, Name: name, Value: value, Unit: unit})
	}
	spread := func(values []time.Duration, p50, p99, most string) {
		add(p50, figure.Quantile(values, 0.5).Seconds(), "s")
		add(p99, figure.Quantile(values, 0.99).Seconds(), "s")
		add(most, figure.Quantile(values, 1).Seconds(), "s")
	}
	spread(l.Launch, figure.Launch50, figure.Launch99, "creation to driver pod, most")
	if l.Launched > 0 {
		add(figure.Launches, float64(len(l.Launch))/l.Launched.Seconds(), "1/s")
	}
	spread(l.Driver, figure.DriverLag50, figure.DriverLag99, "driver event to status, most")
	if len(l.Executor)+l.Untold > 0 {
		spread(l.Executor, figure.ExecutorLag50, figure.ExecutorLag99, "executor event to status, most")
	}
	add(figure.NoDriver, float64(l.Unlaunched), "")
	add(figure.NoStatus, float64(l.Unreflected), "")
	add(figure.NoExecutorStatus, float64(l.Untold), "")
	return out
}
