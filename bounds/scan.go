package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A Fault is the first part of a JSON value that exceeds a limit.
type Fault struct {
	// Path is where it is, as users write it: spec.driver.sidecars[0].resources.limits[cpu]. It is empty for a value on its own.
	Path string
	// Message names the limit and the way out.
	Message string
}

// Error is the path and the message.
func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// at puts the name of a field, or an index or key in brackets, before the path.
func (f *Fault) at(step string) *Fault {
	if f.Path != "" && f.Path[0] != '[' {
		step += "."
	}
	f.Path = step + f.Path
	return f
}

// Check returns the first part of a JSON value that exceeds a limit; nil if there is none. The shape says what the value is to be decoded into. The
// path begins at root, or at the value itself where that is "". How long the whole text is does not matter here: that is the spec's limit. Text that is no JSON is checked as far as it can be read: to refuse it is the decoder's part.
func Check(data []byte, shape *Shape, root string) *Fault {
	s := scanner{in: data, values: MaxSpecValues, items: MaxItems, entries: MaxEntries}
	f := s.value(shape, 0)
	if f != nil && root != "" {
		return f.at(root)
	}
	return f
}

func tooLong(size int) *Fault {
	return &Fault{Message: fmt.Sprintf("has %d bytes of JSON, and at most %d are accepted; keep long texts in a ConfigMap, or in files", size, MaxSpecBytes)}
}

// scanner reads JSON once, from the front to the back, and keeps nothing of it. It never reads beyond the end, whatever the text is.
type scanner struct {
	in     []byte
	at     int
	depth  int
	values int // how many more there may be
	// items and entries are how many a list or map may have whose field says nothing else.
	items, entries int
	// mend makes the scanner go on after a value that exceeds a limit: it notes what to put in the value's place.
	mend    bool
	patches []patch
	// parse makes the scanner read quantities, to find the one that is none.
	parse bool
}

// patch puts another value in the place of a part of the text.
type patch struct {
	from, to int
	with     string
}

// value reads one value. Max is the limit that its field has; 0 for that of all such values.
func (s *scanner) value(shape *Shape, most int) *Fault {
	s.space()
	if s.at >= len(s.in) {
		return nil
	}
	from := s.at
	f := s.limited(shape, most)
	if f != nil && s.mend {
		with := "null"
		if shape.sort == quantity {
			with = `"0"`
		}
		s.at = from
		s.skip()
		for len(s.patches) > 0 && s.patches[len(s.patches)-1].from >= from {
			s.patches = s.patches[:len(s.patches)-1] // of a part of this value
		}
		s.patches = append(s.patches, patch{from, s.at, with})
		return nil
	}
	return f
}

func (s *scanner) limited(shape *Shape, most int) *Fault {
	if s.values--; s.values < 0 {
		return &Fault{Message: fmt.Sprintf("is more than the %d values (texts, numbers, lists, objects) that a spec may have in all; make lists and maps shorter", MaxSpecValues)}
	}
	switch s.in[s.at] {
	case '{':
		return s.nested(shape, most, s.object)
	case '[':
		return s.nested(shape, most, s.list)
	case '"':
		return s.text(shape, most)
	}
	from := s.at
	for s.at < len(s.in) && !delimits(s.in[s.at]) {
		s.at++
	}
	if s.at == from {
		s.at++ // a closing bracket in the place of a value, which is no JSON
	}
	word := s.in[from:s.at]
	switch {
	case shape.sort == quantity:
		return s.quantity(word)
	case len(word) > MaxNumber:
		return &Fault{Message: fmt.Sprintf("a number has at most %d characters, and this one has %d; write it shorter", MaxNumber, len(word))}
	}
	return nil
}

func (s *scanner) quantity(word []byte) *Fault {
	if what := quantityFault(word); what != "" {
		return &Fault{Message: what}
	}
	if s.parse && string(word) != "null" {
		if _, err := resource.ParseQuantity(strings.TrimSpace(string(word))); err != nil {
			return &Fault{Message: fmt.Sprintf("%q is no quantity; write one such as 500m or 2Gi", word)}
		}
	}
	return nil
}

func delimits(c byte) bool {
	switch c {
	case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// text reads a string.
func (s *scanner) text(shape *Shape, most int) *Fault {
	inner := s.quoted()
	if most == 0 {
		most = shape.max
	}
	switch {
	case shape.sort == quantity:
		return s.quantity(inner)
	case most > 0 && shape.sort == text && len(inner) > most:
		if n := characters(inner); n > most {
			return &Fault{Message: fmt.Sprintf("has %d characters, and at most %d are accepted; make it shorter", n, most)}
		}
	}
	return nil
}

// quoted reads a string and returns what is between its quotes, as it is written.
func (s *scanner) quoted() []byte {
	s.at++
	from := s.at
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case '"':
			s.at++
			return s.in[from : s.at-1]
		case '\\':
			s.at++
		}
		s.at++
	}
	s.at = len(s.in)
	return s.in[min(from, len(s.in)):]
}

// characters counts the characters of a string as it is written.
func characters(inner []byte) int {
	if bytes.IndexByte(inner, '\\') >= 0 {
		var decoded string
		if json.Unmarshal(append(append([]byte{'"'}, inner...), '"'), &decoded) == nil {
			return utf8.RuneCountInString(decoded)
		}
	}
	return utf8.RuneCount(inner)
}

// nested reads a list or an object.
func (s *scanner) nested(shape *Shape, most int, read func(*Shape, int) *Fault) *Fault {
	if s.depth++; s.depth > MaxDepth {
		s.depth--
		return &Fault{Message: fmt.Sprintf("lies more than %d lists and objects deep; nest less", MaxDepth)}
	}
	defer func() { s.depth-- }()
	s.at++
	return read(shape, most)
}

func (s *scanner) list(shape *Shape, most int) *Fault {
	if most == 0 || shape.sort != list {
		most = s.items
	}
	elem := anyShape
	if shape.sort == list {
		elem = shape.elem
	}
	for i := 0; ; i++ {
		if s.closed(']') {
			return nil
		}
		if i == most {
			return &Fault{Message: fmt.Sprintf("has more than %d items; make the list shorter", most)}
		}
		if f := s.value(elem, 0); f != nil {
			return f.at(fmt.Sprintf("[%d]", i))
		}
	}
}

// closed reads what separates values, and the closing bracket if it is next. It reports whether the list or object ends.
func (s *scanner) closed(bracket byte) bool {
	for {
		s.space()
		if s.at >= len(s.in) {
			return true
		}
		switch s.in[s.at] {
		case bracket:
			s.at++
			return true
		case ',':
			s.at++
		default:
			return false
		}
	}
}

func (s *scanner) object(shape *Shape, most int) *Fault {
	if shape.sort == object {
		most = 0 // its keys are those of a type
	} else if most == 0 || shape.sort != table {
		most = s.entries
	}
	for n := 0; ; n++ {
		if s.closed('}') {
			return nil
		}
		if most > 0 && n == most {
			return &Fault{Message: fmt.Sprintf("has more than %d entries; take some out", most)}
		}
		raw, ok := s.key()
		if !ok {
			continue // no JSON
		}
		below, limit, known := shape.under(raw)
		if f := s.value(below, limit); f != nil {
			return f.at(step(raw, known || shape.sort == anything))
		}
	}
}

// key reads a key and the colon behind it.
func (s *scanner) key() ([]byte, bool) {
	if s.in[s.at] != '"' {
		s.at++
		return nil, false
	}
	raw := s.quoted()
	s.space()
	if s.at < len(s.in) && s.in[s.at] == ':' {
		s.at++
	}
	return raw, true
}

// under is the shape of what an object has under a key, as it is written, the limit of that field, and whether it is a field of a type. Keys that differ
// in case alone count as the field: encoding/json takes them for it.
func (shape *Shape) under(raw []byte) (*Shape, int, bool) {
	switch shape.sort {
	case table:
		return shape.elem, 0, false
	case object:
		if m := shape.fields[string(raw)]; m != nil {
			return m.shape, m.max, true
		}
		name := raw
		if bytes.IndexByte(raw, '\\') >= 0 {
			name = []byte(unquoted(raw))
		}
		for _, m := range shape.fields {
			if bytes.EqualFold(name, m.name) {
				return m.shape, m.max, true
			}
		}
	}
	return anyShape, 0, false
}

func unquoted(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var decoded string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &decoded) != nil {
		return string(raw)
	}
	return decoded
}

// step is a key as a path has it.
func step(raw []byte, field bool) string {
	name := unquoted(raw)
	if utf8.RuneCountInString(name) > maxShown {
		name = string([]rune(name)[:maxShown]) + "..."
	}
	name = strings.ToValidUTF8(name, "?")
	if field {
		return name
	}
	return "[" + name + "]"
}

// skip reads a value without looking at limits, however deep it is.
func (s *scanner) skip() {
	s.space()
	for depth := 0; s.at < len(s.in); {
		switch s.in[s.at] {
		case '"':
			s.quoted()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case ',', ':':
			s.at++
		default:
			for s.at < len(s.in) && !delimits(s.in[s.at]) {
				s.at++
			}
		}
		if depth <= 0 {
			return
		}
		s.space()
	}
}
