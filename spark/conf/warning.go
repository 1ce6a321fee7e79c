package conf

import "fmt"

// Warning tells of something that is said in vain, or may be wrong, about what is made all the same.
type Warning struct {
	// Key of the configuration, or else Field of the request, that it is about.
	Key, Field string
	// Text says it in plain words, and the way out; no secret is in it.
	Text string
}

// String is the text behind what it is about.
func (w Warning) String() string {
	if w.Key != "" {
		return Shorten(w.Key) + ": " + w.Text
	}
	return w.Field + ": " + w.Text
}

// MaxWarnings is how many Warnings there are at most: they become events, and a user's text can make many.
const MaxWarnings = 20

// Warnings are the first that were given, 20 at most. The zero value is empty.
type Warnings []Warning

// OfKey warns of what a key of the configuration says.
func (w *Warnings) OfKey(key, format string, args ...any) {
	w.add(Warning{Key: key, Text: fmt.Sprintf(format, args...)})
}

// OfField warns of what a field of a request says.
func (w *Warnings) OfField(field, format string, args ...any) {
	w.add(Warning{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (w *Warnings) add(one Warning) {
	if len(*w) < MaxWarnings {
		*w = append(*w, one)
	}
}

// Messages are warnings as text: the first 20, and how many more there were. The zero value is empty.
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
