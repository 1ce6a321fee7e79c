package audit

import (
	"io"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Account is all that is computed from the audit log for a load. The log must have bodies.
type Account struct {
	Tally Tally
	Lags  Lags
	Lives Lives
	// late is how far a driver's status lagged at most, of the applications where it is past the bar.
	late map[key]time.Duration
	// Astray are the operator's writes within the time, in any namespace, that are for no application at all, by Event.Kind; Leases are left out.
	Astray map[string]int
	// Elsewhere counts the operator's writes within the time for applications that are none of the load's.
	Elsewhere int
	// Answered are when the load's, the operator's and the nodes' writes were answered that were carried out.
	Answered []time.Time
}

// ReadAccount reads a log once. What was made before the time that is looked at tells whose it is.
func ReadAccount(in io.Reader, s Scope) (Account, error) {
	owners, lags := Owners{}, newLagReader()
	a := Account{Tally: Tally{}, Lives: Lives{}, Astray: map[string]int{}}
	err := Read(in, func(e *Event) error {
		if !e.Write() {
			return nil
		}
		of, known := owners.of(e)
		a.beside(e, s, known)
		if !s.Has(e) {
			return nil
		}
		a.Tally.Add(e)
		if actor := e.Actor(); e.OK() && (actor == Load || actor == Operator || actor == Node) {
			a.Answered = append(a.Answered, e.Done)
		}
		if known {
			lags.add(e, of)
			a.Lives.add(e, of)
		}
		return nil
	})
	a.Lags, a.late = lags.lags()
	return a, err
}

// beside looks at what the operator writes that is for no application of the load, of which known says whether it is for one at all.
func (a *Account) beside(e *Event, s Scope, known bool) {
	switch {
	case e.Actor() != Operator || !e.OK() || !s.during(e):
	case !known && class(e.Kind()) != "":
		a.Astray[e.Kind()]++
	case known && !s.Has(e):
		a.Elsewhere++
	}
}

// Figures are the account as figures of a scenario and case, for so many applications.
func (a Account) Figures(scenario, of string, applications int) []figure.Figure {
	astray := 0
	for _, n := range a.Astray {
		astray += n
	}
	out := a.Lags.Figures(scenario, of)
	out = append(out, a.Lives.Figures(scenario, of)...)
	out = append(out, figure.Figure{Scenario: scenario, Case: of, Name: figure.Astray, Value: float64(astray)},
		figure.Figure{Scenario: scenario, Case: of, Name: figure.Elsewhere, Value: float64(a.Elsewhere)})
	return append(out, a.Tally.Figures(scenario, of, applications)...)
}
