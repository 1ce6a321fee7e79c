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
