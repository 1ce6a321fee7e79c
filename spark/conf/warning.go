package conf

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// Warning describes a setting that has no effect or may be wrong. Unlike an error, it does not prevent the caller from
// building the application's objects.
type Warning struct {
	// Key is the configuration key, and Field the field of the request, that the warning is about. Only one of them is
	// set.
	Key, Field string
	// Text says what is wrong and what to do. It contains no secret.
	Text string
}

// String returns the key or field of the warning, then its text.
func (w Warning) String() string {
	if w.Key != "" {
		return Shorten(w.Key) + ": " + w.Text
	}
	return w.Field + ": " + w.Text
}

// MaxWarnings is the maximum number of warnings that are kept. Warnings become events, and a user's text can cause many
// of them.
const MaxWarnings = 20

// Warnings is a list of warnings that keeps the first 20 and drops later ones. The zero value is empty.
type Warnings []Warning

// OfKey adds a warning about a key of the configuration.
func (w *Warnings) OfKey(key, format string, args ...any) {
	w.add(Warning{Key: key, Text: fmt.Sprintf(format, args...)})
}

// OfField adds a warning about a field of a request.
func (w *Warnings) OfField(field, format string, args ...any) {
	w.add(Warning{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (w *Warnings) add(warning Warning) {
	if len(*w) < MaxWarnings {
		*w = append(*w, warning)
	}
}

// Messages collects warnings as text. It keeps the first 20 and counts the others. The zero value is empty.
type Messages struct {
	first []string
	more  int
}

// Add formats and adds a warning. If m is full, Add only counts the warning.
func (m *Messages) Add(format string, args ...any) {
	if m.Full() {
		m.more++
		return
	}

	m.first = append(m.first, fmt.Sprintf(format, args...))
}

// Full reports whether m holds the maximum number of warnings, so that Add would drop the text of a further warning.
// Callers for which the text is expensive to compute check Full first.
func (m *Messages) Full() bool { return len(m.first) == MaxWarnings }

// All returns the kept warnings and, if Add dropped further warnings, a line with the number of dropped warnings.
func (m *Messages) All() []string {
	if m.more == 0 {
		return m.first
	}
	return append(m.first, "and "+bounds.Count(m.more, "more warning"))
}
