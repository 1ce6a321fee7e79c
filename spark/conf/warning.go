package conf

import "fmt"

// Warning describes a setting that has no effect or may be wrong, although the objects are built.
type Warning struct {
	// Key is the key of the configuration, or else Field the field of the request, that the warning is about.
	Key, Field string
	// Text says what is wrong and what to do. It contains no secret.
	Text string
}

// String returns the key or field, then the text.
func (w Warning) String() string {
	if w.Key != "" {
		return Shorten(w.Key) + ": " + w.Text
	}
	return w.Field + ": " + w.Text
}

// MaxWarnings is the maximum number of Warnings: they become events, and a user's text can cause many.
const MaxWarnings = 20

// Warnings are the first 20 warnings; later ones are dropped. The zero value is empty.
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

// Messages are warnings as text: the first 20, and the number of the others. The zero value is empty.
type Messages struct {
	first []string
	more  int
}

// Add formats one more warning. If Messages are full, it only counts the warning.
func (m *Messages) Add(format string, args ...any) {
	if m.Full() {
		m.more++
		return
	}
	m.first = append(m.first, fmt.Sprintf(format, args...))
}

// Full reports whether the text of another warning would be dropped. Callers whose text is expensive check it first.
func (m *Messages) Full() bool { return len(m.first) == MaxWarnings }

// All returns the first warnings, and a line with the number of the others.
func (m *Messages) All() []string {
	if m.more == 0 {
		return m.first
	}
	return append(m.first, fmt.Sprintf("and %d more warnings", m.more))
}
