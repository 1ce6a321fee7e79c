package bounds

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Kind describes one kind of custom resource. Spec and Status are the shapes of its two parts. A Shape describes a Go
// type and its limits.
type Kind struct{ Spec, Status *Shape }

// Part is the name of a part of a custom resource.
type Part string

// The parts that Decode checks.
const (
	Spec   Part = "spec"
	Status Part = "status"
)

// Decode decodes a custom resource from JSON as client-go does (keys are case-sensitive), except for values that exceed
// a limit or do not fit their type. Such a value must not make Decode fail, because an informer stops at the first
// object that it cannot decode, and then receives no objects at all. Instead, Decode does the following:
//
//   - If the value is in the spec, the spec stays empty. The returned fault contains the field, the limit or the
//     expected type, and how to correct the value. If several values do not fit their types, it has a line for each.
//   - If there are too many labels, Decode drops the labels and the spec, because the labels are copied to each pod.
//   - If the value is in the status, Decode drops only that value, because the other values record the attempts so far.
//
// The argument `into` points to the custom resource, converted to a type that has no method UnmarshalJSON. The
// arguments `spec` and `status` point to its spec and its status. If Decode has to decode these parts separately, it
// first sets them to their zero values. The result specBytes is the length of the spec's JSON in bytes, or 0 if the
// spec was not decoded. Decode returns an error if the text is not a JSON object, if it contains a spec or a status
// twice, if a top-level key contains an escape, or if the metadata cannot be decoded.
func Decode(data []byte, kind Kind, into, spec, status any) (fault string, specBytes int, err error) {
	if string(bytes.TrimSpace(data)) == "null" { // decoding null changes nothing, as with every Go type
		return "", 0, nil
	}

	parts, err := split(data, kind)
	if err != nil {
		return "", 0, err
	}

	specBytes = parts.spec.to - parts.spec.from
	if parts.fault == nil && len(parts.patches) == 0 && parts.labels == (span{}) {
		if err = utiljson.Unmarshal(data, into); err == nil {
			return "", specBytes, nil
		}
	}

	empty(spec)
	empty(status)

	if err := utiljson.Unmarshal(parts.withoutSpec(), into); err != nil {
		return "", 0, err
	}

	fault = parts.decodeSpec(kind, into)
	if fault != "" {
		empty(spec)

		specBytes = 0
	}

	if unread := parts.decodeStatus(into, status); fault == "" {
		fault = unread
	}
	return fault, specBytes, nil
}

// Encode encodes a custom resource. The argument `plain` is the custom resource, converted to a type that has no method
// MarshalJSON, and `fault` is what Decode returned. If the spec could not be decoded, Encode returns an error.
func Encode(plain any, fault string) ([]byte, error) {
	if fault != "" {
		return nil, fmt.Errorf("the custom resource cannot be encoded, because its spec could not be decoded (%s) and would be lost; send a patch of the fields to change instead", fault)
	}
	return json.Marshal(plain)
}

// Drop empties a spec if its JSON has more than limit bytes, and reports whether it did so.
func Drop[T any](spec *T, specBytes, limit int) bool {
	drop := specBytes > limit
	if drop {
		*spec = *new(T)
	}
	return drop
}

// empty sets a part of a custom resource to its zero value. The argument is a pointer to the part.
func empty(part any) { reflect.ValueOf(part).Elem().SetZero() }

// span is a range of a text. It contains the index of the first byte, and the index after the last byte.
type span struct{ from, to int }

// parts contains the parts of a custom resource after they are checked.
type parts struct {
	data         []byte
	spec, status span    // of their values; empty if there is none
	fault        *Fault  // of the spec or the labels
	patches      []patch // of the status
	labels       span    // of the metadata, if there are too many labels; otherwise empty
}

// split finds and checks the spec, the status and the labels of a custom resource. It returns an error if the text is
// not a JSON object, if it contains a spec or a status twice, or if a top-level key contains an escape. A duplicate or
// an escaped key could hide a part from the checks. The API server never sends such a text.
func split(data []byte, kind Kind) (p parts, err error) {
	s := scanner{in: data}
	s.space()

	if s.at >= len(data) || data[s.at] != '{' {
		return p, errors.New("is not a JSON object")
	}
	s.at++

	p.data = data
	for !s.closed('}') {
		key, isKey := s.key()
		switch {
		case !isKey:
			return p, errors.New("is not a JSON object")
		case bytes.IndexByte(key, '\\') >= 0:
			return p, errors.New("has a key with an escape (\\), which is not accepted in a custom resource")
		}

		s.space()

		from := s.at
		switch string(key) {
		case string(Spec):
			if p.spec != (span{}) {
				return p, errors.New("has two specs")
			}

			p.fault = cmp.Or(s.spec(kind.Spec), p.fault)
			p.spec = span{from, s.at}
		case string(Status):
			if p.status != (span{}) {
				return p, errors.New("has two statuses")
			}

			p.patches = s.status(kind.Status)
			p.status = span{from, s.at}
		case "metadata":
			labels, fault := s.metadata()
			p.fault = cmp.Or(p.fault, fault)
			p.labels = cmp.Or(p.labels, labels)
		default:
			s.skip()
		}
	}
	return p, nil
}

// spec reads and checks the value of a spec.
func (s *scanner) spec(shape *Shape) *Fault {
	inner := scanner{in: s.in, at: s.at, values: MaxSpecValues, items: MaxItems, entries: MaxEntries}

	f := inner.value(shape, 0)
	if f != nil {
		s.skip()
		return f.at(string(Spec))
	}

	if size := inner.at - s.at; size > MaxSpecBytes {
		f = tooLong(size).at(string(Spec))
	}

	s.at = inner.at
	return f
}

var labelsShape = ShapeOf[map[string]string]()

// metadata reads the metadata of an object and checks the number of labels. If there are too many labels, it returns
// their position in the text and a fault. The API server itself limits all other metadata.
func (s *scanner) metadata() (labels span, f *Fault) {
	if s.space(); s.at >= len(s.in) || s.in[s.at] != '{' {
		s.skip()
		return labels, nil
	}

	s.at++
	for !s.closed('}') {
		key, isKey := s.key()
		if !isKey {
			continue // invalid JSON, which the decoder reports
		}

		s.space()

		from := s.at
		if unquoted(key) == "labels" {
			inner := scanner{in: s.in, at: s.at, values: math.MaxInt, items: MaxItems, entries: MaxEntries}
			f = inner.value(labelsShape, 0)
		}

		if s.skip(); f != nil && labels == (span{}) {
			labels, f = span{from, s.at}, f.at("metadata.labels")
		}
	}
	return labels, f
}

// status reads and checks the value of a status, and returns replacements for the values that exceed a limit.
func (s *scanner) status(shape *Shape) []patch {
	inner := scanner{in: s.in, at: s.at, values: math.MaxInt, items: MaxStatusItems, entries: MaxStatusItems, mend: true}
	_ = inner.value(shape, 0) // it replaces every faulty value
	s.at = inner.at
	return inner.patches
}

// withoutSpec returns the JSON of the custom resource, in which null replaces the spec and the status. If there are too
// many labels, null also replaces the labels.
func (p *parts) withoutSpec() []byte {
	var out []byte
	at := 0
	cuts := []span{p.spec, p.status, p.labels}
	slices.SortFunc(cuts, func(a, b span) int { return a.from - b.from })

	for _, cut := range cuts {
		if cut != (span{}) {
			out = append(append(out, p.data[at:cut.from]...), "null"...)
			at = cut.to
		}
	}
	return append(out, p.data[at:]...)
}

// decodeSpec decodes the spec. It returns the reasons why the spec cannot be decoded, one in each line, or an empty
// string.
func (p *parts) decodeSpec(kind Kind, into any) string {
	if p.fault != nil {
		return Join([]*Fault{p.fault})
	}

	if p.spec == (span{}) {
		return ""
	}

	spec := p.data[p.spec.from:p.spec.to]

	err := utiljson.Unmarshal(wrapped(Spec, spec), into)
	if err == nil {
		return ""
	}

	if faults := Misfits(spec, kind.Spec, string(Spec)); len(faults) > 0 {
		return Join(faults)
	}
	return misfit(Spec, err)
}

// decodeStatus decodes the status. If that fails, it decodes each field of the status separately, so that only the
// invalid fields are lost. In this case it returns the reason for an invalid field, and otherwise an empty string.
func (p *parts) decodeStatus(into, status any) (fault string) {
	if p.status == (span{}) {
		return ""
	}

	text := p.patched()

	err := utiljson.Unmarshal(wrapped(Status, text), into)
	if err == nil {
		return ""
	}

	empty(status)

	fault = misfit(Status, err)
	s := scanner{in: text}
	s.space()

	if s.at >= len(text) || text[s.at] != '{' {
		return fault
	}

	s.at++
	for !s.closed('}') {
		from := s.at
		if _, isKey := s.key(); !isKey {
			break
		}

		s.skip()

		member := append(append([]byte{'{'}, text[from:s.at]...), '}')
		if err := utiljson.Unmarshal(wrapped(Status, member), into); err != nil {
			fault = misfit(Status, err)
		}
	}
	return fault
}

// patched returns the JSON of the status after the replacements in p.patches.
func (p *parts) patched() []byte {
	var out []byte

	at := p.status.from
	for _, patch := range p.patches {
		out = append(append(out, p.data[at:patch.from]...), patch.with...)
		at = patch.to
	}
	return append(out, p.data[at:p.status.to]...)
}

func wrapped(part Part, value []byte) []byte {
	return append(append(append([]byte(`{"`), part...), `":`...), append(slices.Clip(value), '}')...)
}

// misfit returns the message for a spec or status that does not fit its Go type.
func misfit(part Part, err error) string {
	way := "correct it, or remove it"

	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return fmt.Sprintf("%s: cannot be read: %s; %s", part, Line(Shorten(err.Error())), way)
	}
	return fmt.Sprintf("%s: cannot be read: the value is of type %s; %s", Line(Shorten(wrong.Field)), Line(Shorten(wrong.Value)), way)
}

// maxMessage is the maximum number of characters of an error that a message shows.
const maxMessage = 300

// Shorten cuts a text that may contain user input to the length that a message can show.
func Shorten(text string) string {
	if utf8.RuneCountInString(text) > maxMessage {
		text = string([]rune(text)[:maxMessage]) + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
