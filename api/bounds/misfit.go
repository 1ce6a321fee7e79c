package bounds

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxMisfits is the maximum number of faults that Misfits returns.
const maxMisfits = 20

// Misfits returns the parts of a JSON value that do not fit the type that a shape describes, and the parts that exceed
// a limit. It returns at most 20 of them. The paths of the faults begin with the argument root, which names the value
// itself. Misfits takes longer than Check, so it is meant for values that could not be decoded, and for programs that
// report all faults at once.
func Misfits(data []byte, shape *Shape, root string) []*Fault {
	s := scanner{in: data, values: MaxSpecValues, items: MaxItems, entries: MaxEntries, parse: true, steps: []string{root}}
	_ = s.value(shape, 0) // it records every fault
	return s.found
}

// Join returns the texts of faults, one in each line.
func Join(faults []*Fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = Line(f.Error())
	}
	return strings.Join(lines, "\n")
}

// collect records a fault of the value that begins at the given position, and continues after the value.
func (s *scanner) collect(f *Fault, from int) {
	for _, step := range slices.Backward(s.steps) {
		if step != "" {
			f = f.at(step)
		}
	}

	s.at = from
	s.skip()

	if s.found = append(s.found, f); len(s.found) == maxMisfits {
		s.at = len(s.in)
	}
}

// leave removes the last step of the path.
func (s *scanner) leave() {
	if s.parse {
		s.steps = s.steps[:len(s.steps)-1]
	}
}

// form is the form of a JSON value, in the words of messages.
type form string

const (
	formObject  form = "an object"
	formList    form = "a list"
	formText    form = "text"
	formBoolean form = "a boolean"
	formNumber  form = "a number"
)

// misfit returns a Fault if the next value does not fit the type that the shape describes. It does not look into lists
// and objects.
func (s *scanner) misfit(shape *Shape) *Fault {
	after := *s
	after.skip()
	raw := s.in[s.at:after.at]

	is := formNumber
	switch s.in[s.at] {
	case '{':
		is = formObject
	case '[':
		is = formList
	case '"':
		is = formText
	case 't', 'f':
		is = formBoolean
	case 'n':
		return nil
	}

	fits := true
	switch shape.sort {
	case text:
		fits = is == formText
	case list:
		fits = is == formList
	case object, table:
		fits = is == formObject
	case boolean:
		fits = is == formBoolean
	case quantity:
		fits = is == formText || is == formNumber
	case integer:
		fits = is == formNumber && fitsInteger(raw, shape.max)
	default:
	}

	if fits {
		return nil
	}
	return &Fault{Message: s.misfitMessage(shape, is, raw)}
}

// fitsInteger reports whether the text of a number is a whole number of the given number of bits. The decoder of trees,
// which reads pod templates, also accepts 1.0 and 1e2.
func fitsInteger(raw []byte, size int) bool {
	if _, err := strconv.ParseInt(string(raw), 10, size); err == nil {
		return true
	}

	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == math.Trunc(f) && math.Abs(f) < math.Ldexp(1, min(size-1, 53))
}

// ways says what is wanted instead of a value that does not fit, and what to write. The first entry counts that has
// the sort of the wanted value, the form of the value unless the entry has none, and whose condition holds unless it
// has none. In the texts, VALUE is the value without quotes, and DECIMAL is an octal or hexadecimal number in decimal.
// LEAST and MOST are the range of an integer, FIELDS names fields of the wanted object, and PART is the field that
// takes a part of a CPU.
var ways = []struct {
	sort sort
	is   form
	when func(s *scanner, shape *Shape, plain string) bool
	way  string
}{
	{text, formObject, func(_ *scanner, _ *Shape, plain string) bool { return strings.HasPrefix(plain, `{"name":`) }, "text; write the name alone"},
	{text, formObject, nil, "text; write a single text, in quotes if it has a colon"},
	{text, formList, nil, "text; write a single text"},
	{text, "", nil, "text; put it in quotes"},
	{integer, formText, func(_ *scanner, _ *Shape, plain string) bool { return decimal(plain) != plain }, "a whole number; write DECIMAL"},
	{integer, formText, func(_ *scanner, _ *Shape, plain string) bool { return whole(plain) }, "a number; remove the quotes"},
	{integer, formNumber, func(_ *scanner, _ *Shape, plain string) bool { return whole(plain) }, "in the range of the field; write a number from LEAST to MOST"},
	{integer, formNumber, func(s *scanner, _ *Shape, _ string) bool { return s.part != "" }, `a whole number; for a part of a CPU, write PART: "VALUE" and leave this field out`},
	{integer, "", nil, "a whole number; write one such as 1"},
	{boolean, formText, func(_ *scanner, _ *Shape, plain string) bool { return plain == "true" || plain == "false" }, "a boolean; remove the quotes"},
	{boolean, "", nil, "a boolean; write true or false"},
	{list, formObject, nil, "a list; begin each item with a hyphen"},
	{list, "", nil, "a list; write it as an item, behind a hyphen"},
	{table, "", nil, "a map; write a line KEY: TEXT for each entry, without a hyphen"},
	{object, formText, func(_ *scanner, shape *Shape, _ string) bool { return shape.fields["type"] != nil }, "an object; write {type: VALUE}"},
	{object, "", nil, "an object; write its fields (FIELDS)"},
	{quantity, "", nil, "a quantity; write one such as 500m or 2Gi"},
}

// misfitMessage says what a value is, what the shape needs, and what to write instead.
func (s *scanner) misfitMessage(shape *Shape, is form, raw []byte) string {
	plain, message := strings.Trim(string(raw), `"`), "is "+string(is)
	if s.mayShow(is, raw) {
		message = fmt.Sprintf("is the %s %s", strings.TrimPrefix(string(is), "a "), raw)
	}

	for _, w := range ways {
		if w.sort != shape.sort || w.is != "" && w.is != is || w.when != nil && !w.when(s, shape, plain) {
			continue
		}

		var most int64
		if shape.sort == integer {
			most = math.MaxInt64 >> (64 - shape.max)
		}
		return message + ", not " + strings.NewReplacer("VALUE", plain, "LEAST", strconv.FormatInt(-most-1, 10), "MOST", strconv.FormatInt(most, 10),
			"FIELDS", strings.Join(shape.names(), ", "), "PART", s.part, "DECIMAL", decimal(plain)).Replace(w.way)
	}
	return message
}

// decimal returns the decimal form of a whole number such as 0400, 0o400, 0x100 or 08. It returns any other text
// unchanged.
func decimal(text string) string {
	for _, base := range []int{0, 10} {
		if n, err := strconv.ParseInt(text, base, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	}
	return text
}

// whole reports whether a text is a whole number of any size.
func whole(text string) bool {
	_, ok := new(big.Int).SetString(text, 10)
	return ok
}

// secret matches the keys whose values messages must not show: Spark's own pattern of secrets, and the value of an
// environment variable.
var secret = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|^\[?value\]?$`)

// mayShow reports whether a message may show a value: a boolean, or a short scalar that is not a secret.
func (s *scanner) mayShow(is form, raw []byte) bool {
	return is == formBoolean || (is == formNumber || is == formText) && len(raw) <= maxShown && !secret.MatchString(s.steps[len(s.steps)-1])
}

// names returns the first names of an object's fields in the order of the alphabet.
func (shape *Shape) names() (names []string) {
	for name := range shape.fields {
		names = append(names, name)
	}

	slices.Sort(names)

	if len(names) > 4 {
		names = append(names[:3], "...")
	}
	return names
}

// fractions maps the field of a whole number of CPUs to the field beside it that takes a part of a CPU.
var fractions = map[string]string{"cores": "coreRequest"}

// partOf returns the field beside the given field that takes a part of a CPU, or "".
func (shape *Shape) partOf(raw []byte) string {
	if other := fractions[string(raw)]; shape.sort == object && shape.fields[other] != nil {
		return other
	}
	return ""
}
