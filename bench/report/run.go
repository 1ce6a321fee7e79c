package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// Measurement is a measured value of a scenario.
type Measurement struct {
	// ID has the form SCENARIO/CASE/NAME. The case may be empty.
	ID    string  `json:"id"`
	Value float64 `json:"value"`
	// Unit is empty for counts and ratios. MB are 10^6 bytes.
	Unit string `json:"unit,omitempty"`
}

// Step describes one scenario of a run after it has ended.
type Step struct {
	Name   string    `json:"name"`
	Began  time.Time `json:"began"`
	Took   string    `json:"took"`
	Commit string    `json:"commit"`
	// Error is empty if the scenario completed all its measurements.
	Error string `json:"error,omitempty"`
}

// Run holds the measurements of one run. Several goroutines may add to it at the same time.
type Run struct {
	Began        time.Time         `json:"began"`
	Plan         string            `json:"plan"`
	Machine      map[string]string `json:"machine"`
	Steps        []Step            `json:"steps"`
	Measurements []Measurement     `json:"figures"`
	// Notes are sentences about the measurements.
	Notes []string `json:"notes,omitempty"`

	mu sync.Mutex
}

// Add adds a measurement. The measurement's identity consists of the scenario, a part of the scenario, and a name,
// separated by slashes. Add drops a value that is not finite. The measurement is then missing, so its bound fails. If
// the run already has a measurement with this identity, Add panics, because the scenario has a bug.
func (r *Run) Add(scenario, in, name string, value float64, unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	id := scenario + "/" + in + "/" + name

	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}

	if slices.ContainsFunc(r.Measurements, func(f Measurement) bool { return f.ID == id }) {
		panic(fmt.Sprintf("measurement %s was added twice: this is a bug of its scenario", id))
	}

	r.Measurements = append(r.Measurements, Measurement{ID: id, Value: value, Unit: unit})
}

// Note adds a sentence to the notes.
func (r *Run) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// AddStep records that a scenario ran.
func (r *Run) AddStep(s Step) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.Steps = append(r.Steps, s)
}

// Value returns the measurement with an identity, and whether it exists.
func (r *Run) Value(id string) (Measurement, bool) {
	i := slices.IndexFunc(r.Measurements, func(f Measurement) bool { return f.ID == id })
	if i < 0 {
		return Measurement{}, false
	}
	return r.Measurements[i], true
}

// scenario returns the name of the scenario, which is the first part of a measurement's identity.
func scenario(id string) string {
	name, _, _ := strings.Cut(id, "/")
	return name
}

// Save writes the run to a file.
func (r *Run) Save(file string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Load reads a run from a file.
func Load(file string) (*Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	r := &Run{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("run %s is not valid JSON: %w", file, err)
	}
	return r, nil
}

// Newest combines several runs of a plan into one. It takes each scenario from the newest run in which that scenario
// had no error.
func Newest(runs []*Run) *Run {
	out := &Run{}
	for _, r := range slices.SortedFunc(slices.Values(runs), func(a, b *Run) int { return b.Began.Compare(a.Began) }) {
		for _, s := range r.Steps {
			if s.Error != "" || slices.ContainsFunc(out.Steps, func(known Step) bool { return known.Name == s.Name }) {
				continue
			}

			if len(out.Steps) == 0 {
				out.Began, out.Plan, out.Machine = r.Began, r.Plan, r.Machine
			}

			if out.Steps = append(out.Steps, s); !slices.ContainsFunc(r.Notes, func(n string) bool { return slices.Contains(out.Notes, n) }) {
				out.Notes = append(out.Notes, r.Notes...)
			}

			for _, f := range r.Measurements {
				if scenario(f.ID) == s.Name {
					out.Measurements = append(out.Measurements, f)
				}
			}
		}
	}
	return out
}

// Format returns a value with three significant digits, commas between thousands, and its unit, such as "4.57 ms" or
// "17.5/s".
func Format(value float64, unit string) string {
	text := message.NewPrinter(language.English).Sprint(number.Decimal(value, number.Precision(3), number.MaxFractionDigits(9)))
	if per, ok := strings.CutPrefix(unit, "1/"); ok {
		return text + "/" + per
	}
	return strings.TrimSpace(text + " " + unit)
}

// Quantile returns a quantile of the values by the nearest-rank method, without interpolation. The share 0.5 gives the
// median. Without values Quantile returns 0.
func Quantile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}

	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(share*float64(len(sorted))))-1))]
}

// Rate returns how many of the given times fall into one second, on average. It leaves out the first and the last tenth
// of the times, because the rate differs at the start and the end. For fewer than two times it returns NaN.
func Rate(moments []time.Time) float64 {
	at := slices.SortedFunc(slices.Values(moments), time.Time.Compare)
	if len(at) == 0 {
		return math.NaN()
	}

	from, to := len(at)/10, len(at)-1-len(at)/10
	return float64(to-from) / at[to].Sub(at[from]).Seconds()
}
