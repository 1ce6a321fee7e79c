// Package findings contains the findings of sparkctl doctor and how they are printed.
package findings

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Level says how serious a finding is.
type Level string

// These are the levels.
const (
	OK      Level = "ok"
	Note    Level = "note"    // something is not in use
	Unknown Level = "unknown" // something could not be checked
	Warning Level = "warning" // something may fail later
	Error   Level = "error"   // something fails now
)

// Finding is the result of one check.
type Finding struct {
	Level Level `json:"level"`
	// Check names the part that was checked, such as operator.
	Check string `json:"check"`
	Text  string `json:"text"`
	// Fix is a command that repairs the cause of the finding. If no single command can repair it, Fix is a command that
	// shows the cause. It is empty if nothing has to be done.
	Fix terminal.Command `json:"fix,omitempty"`
}

// Report collects the findings of a run.
type Report struct{ Findings []Finding }

// Add adds a finding, with its text as a format.
func (r *Report) Add(level Level, check string, fix terminal.Command, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Level: level, Check: check, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// count returns the number of findings with the given level.
func (r *Report) count(level Level) (n int) {
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Print prints the findings, as JSON if the output is json. It returns an error if a check found an error or was not
// possible.
func (r *Report) Print(streams terminal.Streams, output string) error {
	if output == "json" {
		text, err := json.MarshalIndent(r.Findings, "", "  ")
		if err != nil {
			return err
		}

		fmt.Fprintln(streams.Out, string(text))
	} else {
		r.write(streams)
	}

	if r.count(Error)+r.count(Unknown) > 0 {
		return exit.Errorf(exit.Cluster, "doctor found %s and %s, and could not do %s",
			bounds.Count(r.count(Error), "error"), bounds.Count(r.count(Warning), "warning"), bounds.Count(r.count(Unknown), "check"))
	}
	return nil
}

// indent is the width of the columns before the text of a finding.
const indent = 22

// write prints the findings. Texts are wrapped, but commands are not, so that users can copy them.
func (r *Report) write(streams terminal.Streams) {
	for _, f := range r.Findings {
		text := terminal.Wrap(fmt.Sprintf("%-8s %-12s ", f.Level, f.Check), f.Text, streams.Width)
		streams.Paint(text+"\n", string(f.Level), string(f.Level))

		if f.Fix != "" {
			fmt.Fprintf(streams.Out, "%sfix: %s\n", strings.Repeat(" ", indent), bounds.Line(string(f.Fix)))
		}
	}
}
