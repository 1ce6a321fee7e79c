// Package figure is what a run of the bench measures, and how it is kept: values, series for plots, and the machine that they were taken on. A range that is
// checked, a row of a table and a line of a plot all speak of the same figures.
package figure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figure is one measured value. Scenario, Case and Name together are its identity.
type Figure struct {
	Scenario string  `json:"scenario"`       // what was done, such as "lives"; a table
	Case     string  `json:"case,omitempty"` // under which circumstances, such as "1,000 live"; a column. Empty where there is one only
	Name     string  `json:"name"`           // what was measured, such as "creation to driver pod, p99"; a row
	Value    float64 `json:"value"`
	Unit     string  `json:"unit,omitempty"` // "s", "ms", "MB", "1/s"; empty for counts and ratios
}

// ID is how a range names a figure: "lives/1,000 live/creation to driver pod, p99".
func (f Figure) ID() string { return strings.Join([]string{f.Scenario, f.Case, f.Name}, "/") }

// Series is a line of a plot. Series of one scenario and title stand in one plot.
type Series struct {
	Scenario string       `json:"scenario"`
	Title    string       `json:"title"` // of the plot
	Name     string       `json:"name"`  // of the line
	X        string       `json:"x"`     // what the axis shows, with its unit
	Y        string       `json:"y"`
	Points   [][2]float64 `json:"points"`
}

// Run is one run of the bench.
type Run struct {
	mu    sync.Mutex
	twice []string // identities of figures that were refused

	Began   time.Time         `json:"began"`
	Took    string            `json:"took,omitempty"`
	Commit  string            `json:"commit,omitempty"`
	Plan    string            `json:"plan"` // "quick" or "full"
	Machine map[string]string `json:"machine"`
	// Versions are those of Kubernetes, etcd, Go and each Spark, by name.
	Versions map[string]string `json:"versions"`
	// Setting says what is as in a cluster and what is not, in a paragraph.
	Setting string `json:"setting,omitempty"`
	// Worlds are the steps of each control plane that several shared.
	Worlds  [][]string `json:"worlds,omitempty"`
	Figures []Figure   `json:"figures"`
	Series  []Series   `json:"series,omitempty"`
	// Notes are what a reader should know of a scenario, in a sentence each.
	Notes []Note `json:"notes,omitempty"`
	// Outliers are applications that are past a bar, of each load a few.
	Outliers []Outlier `json:"outliers,omitempty"`
	// Failed are the steps that did not come to their end: what there is of them was measured before.
	Failed []string `json:"failed,omitempty"`
}

// Note is a sentence about a scenario.
type Note struct {
	Scenario string `json:"scenario"`
	Text     string `json:"text"`
}

// Outlier is an application that is past a bar, with all that tells why: a figure says that there is one, and not which.
type Outlier struct {
	Scenario    string `json:"scenario"`
	Case        string `json:"case,omitempty"`
	Application string `json:"application"` // its namespace and name
	Why         string `json:"why"`         // "5 status writes"
	// Story is what was written of it, a line each, with the time since its creation.
	Story []string `json:"story"`
}

// String is an outlier for a terminal.
func (o Outlier) String() string {
	return fmt.Sprintf("%s: %s: %s\n\t%s\n", strings.TrimSuffix(o.Scenario+", "+o.Case, ", "), o.Application, o.Why, strings.Join(o.Story, "\n\t"))
}

// Add notes figures. Several scenarios may add at once. A value that is no number (what came to 0/0) is not a measured one and is left out: a range that
// wants it finds it missing, and the rest of the run can be saved. Of two figures of one identity the first is kept, and Err tells of the second.
func (r *Run) Add(figures ...Figure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range figures {
		if !finite(f.Value) {
			continue
		}
		if slices.ContainsFunc(r.Figures, func(is Figure) bool { return is.ID() == f.ID() }) {
			r.twice = append(r.twice, f.ID())
			continue
		}
		r.Figures = append(r.Figures, f)
	}
}

// Err tells which figures were added twice. Which of them a range or a table would speak of is anybody's guess, so that scenarios are wrong that do so; what was
// measured can be saved all the same.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.twice) == 0 {
		return nil
	}
	return fmt.Errorf("figures that were measured twice: %s", strings.Join(r.twice, "; "))
}

// Plot notes lines of plots, without points that are nowhere.
func (r *Run) Plot(series ...Series) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range series {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p [2]float64) bool { return !finite(p[0]) || !finite(p[1]) })
		r.Series = append(r.Series, s)
	}
}

// finite reports whether a value is a number that JSON can hold.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Say notes a sentence about a scenario.
func (r *Run) Say(scenario, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Notes = append(r.Notes, Note{scenario, fmt.Sprintf(format, args...)})
}

// Name notes applications that are past a bar.
func (r *Run) Name(outliers ...Outlier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Outliers = append(r.Outliers, outliers...)
}

// Fail notes a step that did not come to its end.
func (r *Run) Fail(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Failed = append(r.Failed, step)
}

// Value finds a figure by its identity.
func (r *Run) Value(id string) (Figure, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.ID() == id })
	if i < 0 {
		return Figure{}, false
	}
	return r.Figures[i], true
}

// Save writes a run as JSON.
func (r *Run) Save(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Load reads a run that was saved.
func Load(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// Quantile is the value that a share of the values do not pass; 0 of none.
func Quantile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(float64(len(sorted))*share), len(sorted)-1)]
}
