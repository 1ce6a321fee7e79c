package bounds

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Fault is the first part of a JSON value that exceeds a limit.
type Fault struct {
	// Path is the path of the part as users write it: spec.driver.sidecars[0].resources.limits[cpu]. It is empty if the
	// part is the whole checked value.
	Path string
	// Message names the limit and says how to stay within it.
	Message string
}

// Error returns the path and the message.
func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// at adds one step to the beginning of the fault's path. A step is the name of a field, or an index or a key in
// brackets.
func (f *Fault) at(step string) *Fault {
	if f.Path != "" && f.Path[0] != '[' {
		step += "."
	}

	f.Path = step + f.Path
	return f
}

// Check returns a Fault for the first part of a JSON value that exceeds a limit, or nil. The argument `shape` describes
// the type into which the value will be decoded. The path of the fault begins with the argument `root`, which names the
// value itself. If `root` is "", the path is relative to the value. Check does not limit the length of the whole text,
// because only specs have such a limit. If the text is not valid JSON, Check reads as far as it can and leaves the
// error to the decoder.
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

// scanner reads JSON once, from front to back, without keeping any of it. It never reads beyond the end of the text,
// even if the text is not valid JSON.
type scanner struct {
	in     []byte
	at     int
	depth  int
	values int // how many more values are allowed
	// items and entries are the limits of lists and maps whose fields have no limit of their own.
	items, entries int
	// mend makes the scanner continue after a value that exceeds a limit, and record a replacement for the value.
	mend    bool
	patches []patch
	// parse makes the scanner check the types of values and parse quantities. It records the faults and continues.
	parse bool
	found []*Fault
	// steps is the path of the value that is read next, and part the field beside it that takes a part of a CPU. They
	// are only kept if parse is set.
	steps []string
	part  string
	// names is memory that ambiguous uses again for each object.
	names [][2][]byte
}

// patch replaces a part of the text by another value.
type patch struct {
	from, to int
	with     string
}

// value reads one value and checks its limits. The last argument is the limit of the field that contains the value. If
// it is 0, the field has no limit of its own, and the general limit for this kind of value applies, such as MaxItems
// for a list.
func (s *scanner) value(shape *Shape, most int) *Fault {
	s.space()

	if s.at >= len(s.in) {
		return nil
	}

	from := s.at

	var f *Fault
	if s.parse {
		f = s.misfit(shape)
	}

	if f == nil {
		f = s.limited(shape, most)
	}

	if f != nil && s.parse {
		s.collect(f, from)
		return nil
	}

	if f != nil && s.mend {
		with := "null"
		if shape.sort == quantity {
			with = `"0"`
		}

		s.at = from
		s.skip()

		for len(s.patches) > 0 && s.patches[len(s.patches)-1].from >= from {
			s.patches = s.patches[:len(s.patches)-1] // replacements inside this value, which is replaced as a whole
		}

		s.patches = append(s.patches, patch{from, s.at, with})
		return nil
	}
	return f
}

func (s *scanner) limited(shape *Shape, most int) *Fault {
	if s.values--; s.values < 0 {
		return &Fault{Message: fmt.Sprintf("exceeds the limit of %d values (texts, numbers, lists and objects together) of a spec; make lists and maps shorter", MaxSpecValues)}
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
		s.at++ // a closing bracket instead of a value: invalid JSON
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
			return &Fault{Message: fmt.Sprintf("%q is not a quantity; write one such as 500m or 2Gi", word)}
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

// quoted reads a string. It returns the text between the quotation marks as it is written in JSON, with its escapes.
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

// characters counts the characters of a string. The argument is the string as it is written in JSON, with its escapes.
func characters(inner []byte) int {
	if bytes.IndexByte(inner, '\\') >= 0 {
		var decoded string
		if utiljson.Unmarshal(append(append([]byte{'"'}, inner...), '"'), &decoded) == nil {
			return utf8.RuneCountInString(decoded)
		}
	}
	return utf8.RuneCount(inner)
}

// nested reads a list or an object, and checks the depth of nesting. The last argument is the method that reads the
// elements, which is s.list or s.object.
func (s *scanner) nested(shape *Shape, most int, read func(*Shape, int) *Fault) *Fault {
	if s.depth++; s.depth > MaxDepth {
		s.depth--
		return &Fault{Message: fmt.Sprintf("is nested more than %d lists and objects deep; use fewer levels", MaxDepth)}
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

		if s.parse {
			s.steps = append(s.steps, fmt.Sprintf("[%d]", i))
		}

		if f := s.value(elem, 0); f != nil {
			return f.at(fmt.Sprintf("[%d]", i))
		}

		s.leave()
	}
}

// closed reads white space and commas. If the closing bracket follows, closed reads it and returns true. At the end of
// the text closed also returns true. Otherwise it returns false.
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

// mostEntries returns the largest number of entries of an object; 0 means any number. The argument most is the limit of
// the field that contains the object.
func (s *scanner) mostEntries(shape *Shape, most int) int {
	switch {
	case shape.sort == object:
		return 0 // the keys are the fields of a Go type, whose number is limited
	case most == 0 || shape.sort != table:
		return s.entries
	}
	return most
}

func (s *scanner) object(shape *Shape, most int) *Fault {
	most = s.mostEntries(shape, most)
	// The object is plain if its names are sorted fields of its type, or sorted keys. Then no name is there twice. The
	// API server sends objects in this form.
	from, last, plain, known := s.at, []byte(nil), true, true
	for n := 0; !s.closed('}'); n++ {
		if most > 0 && n == most {
			return &Fault{Message: fmt.Sprintf("has more than %d entries; remove some", most)}
		}

		raw, ok := s.key()
		if !ok {
			continue // invalid JSON
		}

		below, limit, isField := shape.under(raw)
		known = known && (isField || shape.sort != object)
		plain = plain && known && (n == 0 || bytes.Compare(last, raw) < 0) && bytes.IndexByte(raw, '\\') < 0

		last = raw
		if s.parse {
			s.steps, s.part = append(s.steps, step(raw, shape.sort != table)), shape.partOf(raw)
		}

		if f := s.value(below, limit); f != nil {
			return f.at(step(raw, shape.sort != table))
		}

		s.leave()
	}

	if plain || s.mend {
		return nil
	}
	return s.ambiguous(from, shape, known)
}

// ambiguous returns a Fault for the first name that is in an object twice. Two names of fields are also the same if
// they differ only in case: the API server and Spark distinguish them, but encoding/json does not. Keys that users
// choose, such as those of labels, may differ only in case, and so may the names in an object of unknown type. The
// argument from is the position after the object's opening brace, and s.at is after its closing brace. The argument
// known reports whether all names are fields of the object's Go type. If so, they differ in more than case.
func (s *scanner) ambiguous(from int, shape *Shape, known bool) *Fault {
	again, names := scanner{in: s.in[:s.at], at: from}, s.names[:0]
	for !again.closed('}') {
		raw, ok := again.key()
		if !ok {
			continue // invalid JSON
		}

		again.skip()

		if bytes.IndexByte(raw, '\\') >= 0 {
			raw = []byte(unquoted(raw))
		}

		name := [2][]byte{raw, raw}
		if shape.sort == object && !known {
			name[0] = []byte(foldName(string(raw)))
		}

		names = append(names, name)
	}

	s.names = names
	slices.SortStableFunc(names, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })

	for i := 1; i < len(names); i++ {
		if !bytes.Equal(names[i-1][0], names[i][0]) {
			continue
		}

		first, second := names[i-1][1], names[i][1]

		f := &Fault{Message: "is set twice in the same object; remove one of the two"}
		if !bytes.Equal(first, second) {
			f.Message = fmt.Sprintf("differs from %s in the same object only by upper and lower case; remove one of the two", step(first, true))
		}
		return f.at(step(second, shape.sort != table))
	}
	return nil
}

// foldName returns a text that is equal for all names that encoding/json considers to be the same: it ignores case, and
// the letters U+017F and U+212A are s and k.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// key reads a key and the colon after it.
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

// under looks up a key of an object. It returns three results for the value at this key: its shape, the limit of its
// field (0 if the field has no limit of its own), and whether the key is a field of a Go type. The argument is the key
// as it is written in JSON, with its escapes. Upper and lower case make a difference, as in all of our decoders.
func (shape *Shape) under(raw []byte) (*Shape, int, bool) {
	switch shape.sort {
	case table:
		return shape.elem, 0, false
	case object:
		m := shape.fields[string(raw)]
		if m == nil && bytes.IndexByte(raw, '\\') >= 0 {
			m = shape.fields[unquoted(raw)]
		}

		if m != nil {
			return m.shape, m.max, true
		}
	}
	return anyShape, 0, false
}

func unquoted(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}

	var decoded string
	if utiljson.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &decoded) != nil {
		return string(raw)
	}
	return decoded
}

// step returns the text for a key in the path of a fault. For a field of a Go type this is the field's name, and for a
// key of a map it is the key in brackets.
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

// skip reads a value without checking limits. The value may be nested to any depth.
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
