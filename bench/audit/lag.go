package audit

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Lags are how far the operator was behind, by the API server's own clock.
type Lags struct {
	// Launch is from an application's creation to its first driver pod's, both when they were answered.
	Launch []time.Duration
	// Status is from a driver pod's status that was written (it runs, it ended) to the operator's write of an application's status that reflects it, both when they
	// were answered. A write may be answered before what caused it is: that is 0.
	Status []time.Duration
	// Launched is from the first application's creation to the last one's first driver pod, both when they were answered.
	Launched time.Duration
	// Unlaunched applications have no driver pod, and Unreflected changes of driver pods no status, up to the end of the log.
	Unlaunched, Unreflected int
}

// moment is what happened to an application.
type moment struct {
	received, done time.Time
	what           happening
}

type happening int

const (
	created  happening = iota // the application
	launched                  // a driver pod of it
	runs                      // the driver pod, by its status
	ended
	saidRuns // the application, by its status; it or more is reflected
	saidEnded
)

type key struct{ namespace, name string }

// LagReader collects what lags are computed from. The log must have bodies.
type LagReader struct {
	apps    map[key][]moment
	drivers map[key]key // the application of a driver pod
}

// NewLagReader returns one that has seen nothing.
func NewLagReader() *LagReader { return &LagReader{map[key][]moment{}, map[key]key{}} }

// Add looks at an event.
func (l *LagReader) Add(e *Event) {
	if !e.Write() || !e.OK() {
		return
	}
	o := key{e.Object.Namespace, e.Object.Name}
	note := func(app key, what happening) { l.apps[app] = append(l.apps[app], moment{e.Received, e.Done, what}) }
	switch kind := e.Kind(); {
	case kind == "create sparkapplications":
		note(o, created)
	case kind == "create pods":
		if name := driverOf(e.Body); name != "" {
			app := key{o.namespace, name}
			l.drivers[o] = app
			note(app, launched)
		}
	case strings.HasSuffix(kind, " pods/status"):
		if app, ok := l.drivers[o]; ok {
			if what, ok := phases[phaseOf(e.Body)]; ok {
				note(app, what)
			}
		}
	case strings.HasSuffix(kind, " sparkapplications/status") && e.Actor() == Operator:
		if what, ok := states[stateOf(e.Body)]; ok {
			note(o, what)
		}
	}
}

// driverOf is the name of the application whose driver a pod is; empty when it is none.
func driverOf(body json.RawMessage) string {
	var pod struct {
		Metadata struct {
			Labels          map[string]string
			OwnerReferences []struct{ Kind, Name string }
		}
	}
	// What cannot be read is no driver: the operator's are.
	if !bytes.Contains(body, []byte(`"spark-role":"driver"`)) || json.Unmarshal(body, &pod) != nil || pod.Metadata.Labels["spark-role"] != "driver" {
		return ""
	}
	for _, owner := range pod.Metadata.OwnerReferences {
		if owner.Kind == "SparkApplication" {
			return owner.Name
		}
	}
	return ""
}

func phaseOf(body json.RawMessage) string {
	var pod struct{ Status struct{ Phase string } }
	_ = json.Unmarshal(body, &pod) // no phase
	return pod.Status.Phase
}

// stateOf is the state that a write of an application's status has: of either API.
func stateOf(body json.RawMessage) string {
	var app struct {
		Status struct {
			ApplicationState struct{ State string }               // v1beta2
			CurrentState     struct{ CurrentStateSummary string } // spark.apache.org
		}
	}
	_ = json.Unmarshal(body, &app) // no state
	return app.Status.ApplicationState.State + app.Status.CurrentState.CurrentStateSummary
}

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

// Lags computes them from what was seen.
func (l *LagReader) Lags() (out Lags) {
	var all launches
	for _, moments := range l.apps {
		// The log is in the order of answers but for those that came at once.
		slices.SortStableFunc(moments, func(a, b moment) int { return a.done.Compare(b.done) })
		out.launch(moments, &all)
		out.status(moments)
	}
	out.Launched = all.last.Sub(all.first)
	return out
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

// status pairs every first word of a driver pod's phase with the first write that reflects it.
func (l *Lags) status(moments []moment) {
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
			at := slices.IndexFunc(moments, func(s moment) bool { return s.what >= want && !s.done.Before(m.received) })
			if at < 0 {
				l.Unreflected++
				continue
			}
			l.Status = append(l.Status, max(0, moments[at].done.Sub(m.done)))
		}
	}
}

// ReadLags computes the lags of a log.
func ReadLags(in io.Reader, s Scope) (Lags, error) {
	l := NewLagReader()
	err := Read(in, func(e *Event) error {
		if s.Has(e) {
			l.Add(e)
		}
		return nil
	})
	return l.Lags(), err
}

// Figures are the lags as figures of a scenario and case, in seconds.
func (l Lags) Figures(scenario, of string) []figure.Figure {
	var out []figure.Figure
	add := func(name string, value float64, unit string) {
		out = append(out, figure.Figure{Scenario: scenario, Case: of, Name: name, Value: value, Unit: unit})
	}
	add(figure.Launch50, figure.Quantile(l.Launch, 0.5).Seconds(), "s")
	add(figure.Launch99, figure.Quantile(l.Launch, 0.99).Seconds(), "s")
	add("creation to driver pod, most", figure.Quantile(l.Launch, 1).Seconds(), "s")
	if l.Launched > 0 {
		add(figure.Launches, float64(len(l.Launch))/l.Launched.Seconds(), "1/s")
	}
	add(figure.DriverLag50, figure.Quantile(l.Status, 0.5).Seconds(), "s")
	add(figure.DriverLag99, figure.Quantile(l.Status, 0.99).Seconds(), "s")
	add("driver event to status, most", figure.Quantile(l.Status, 1).Seconds(), "s")
	if l.Unlaunched+l.Unreflected > 0 {
		add(figure.NoDriver, float64(l.Unlaunched), "")
		add(figure.NoStatus, float64(l.Unreflected), "")
	}
	return out
}
