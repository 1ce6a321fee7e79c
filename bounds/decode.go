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

// Kind says what the parts of a custom resource are decoded into.
type Kind struct{ Spec, Status *Shape }

// Part is a part of a custom resource.
type Part string

// The parts that Decode checks.
const (
	Spec   Part = "spec"
	Status Part = "status"
)

// Decode decodes a custom resource from JSON as client-go does (keys mind their case), but for what exceeds a limit or does not fit its type. An informer
// ends at the first object that it cannot decode, and then knows nothing of anybody's objects. So such an object is no error:
//
//   - Its spec stays empty. The fault that is returned names the field, why it was not read, and the way out.
//   - Its labels are left out if there are too many, and its spec with them: labels reach each pod.
//   - Of its status, only the value at fault is left out: the rest remembers which attempts there were.
//
// Into is a pointer to the custom resource as a type without an UnmarshalJSON of its own, and spec and status are pointers to its parts, which may be emptied. Decode also returns the
// length in bytes of the spec that was read, 0 if it was not. An error means that the text is no JSON object, that it has a part twice, or that its metadata cannot be read.
func Decode(data []byte, kind Kind, into, spec, status any) (fault string, specBytes int, err error) {
	if string(bytes.TrimSpace(data)) == "null" { // which changes nothing, as of any type
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
	if err := utiljson.Unmarshal(parts.rest(), into); err != nil {
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

// Unwritable is the error of encoding a custom resource whose spec was not read, for the fault that Decode returned.
func Unwritable(fault string) error {
	return fmt.Errorf("the custom resource cannot be encoded, because its spec was not read (%s); patch the parts that are to change", fault)
}

// empty sets what a pointer leads to to its zero value.
func empty(part any) { reflect.ValueOf(part).Elem().SetZero() }

// span is a part of a text.
type span struct{ from, to int }

// parts are the parts of a custom resource, checked.
type parts struct {
	data         []byte
	spec, status span    // of their values; empty if there is none
	fault        *Fault  // of the spec or the labels
	patches      []patch // of the status
	labels       span    // of the metadata, if there are too many; else empty
}

// split finds and checks the parts of a custom resource. It refuses what is no JSON object, and what could hide a part: a part that comes twice, and a key
// that is written with escapes. The API server sends neither.
func split(data []byte, kind Kind) (p parts, err error) {
	s := scanner{in: data}
	s.space()
	if s.at >= len(data) || data[s.at] != '{' {
		return p, errors.New("is no JSON object")
	}
	s.at++
	p.data = data
	for !s.closed('}') {
		key, isKey := s.key()
		switch {
		case !isKey:
			return p, errors.New("is no JSON object")
		case bytes.IndexByte(key, '\\') >= 0:
			return p, errors.New("has a key with an escape, which custom resources do not have")
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

// spec reads the value of a spec.
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

// metadata reads the value of an object's metadata. It returns where the labels are if there are too many. The API server bounds the rest.
func (s *scanner) metadata() (labels span, f *Fault) {
	if s.space(); s.at >= len(s.in) || s.in[s.at] != '{' {
		s.skip()
		return labels, nil
	}
	s.at++
	for !s.closed('}') {
		key, isKey := s.key()
		if !isKey {
			continue // no JSON
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

// status reads the value of a status, and returns what to put in the places of what is at fault.
func (s *scanner) status(shape *Shape) []patch {
	inner := scanner{in: s.in, at: s.at, values: math.MaxInt, items: MaxStatusItems, entries: MaxStatusItems, mend: true}
	_ = inner.value(shape, 0) // it mends every fault
	s.at = inner.at
	return inner.patches
}

// rest is the custom resource without spec and status, and without labels that are too many.
func (p *parts) rest() []byte {
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

// decodeSpec decodes the spec, and returns why it cannot be.
func (p *parts) decodeSpec(kind Kind, into any) string {
	if p.fault != nil {
		return p.fault.Error()
	}
	if p.spec == (span{}) {
		return ""
	}
	spec := p.data[p.spec.from:p.spec.to]
	err := utiljson.Unmarshal(wrapped(Spec, spec), into)
	if err == nil {
		return ""
	}
	s := scanner{in: spec, values: MaxSpecValues, items: MaxItems, entries: MaxEntries, parse: true}
	if f := s.value(kind.Spec, 0); f != nil {
		return f.at(string(Spec)).Error()
	}
	return misfit(Spec, err)
}

// decodeStatus decodes the status, and returns why a part of it cannot be. Of one that cannot be decoded each member is decoded for itself.
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

// patched is the status with its patches.
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

// misfit says where a part does not fit its type.
func misfit(part Part, err error) string {
	way := "correct it, or remove it"
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return fmt.Sprintf("%s: cannot be read: %s; %s", part, Shorten(err.Error()), way)
	}
	return fmt.Sprintf("%s: cannot be read: a %s is no %s; %s", Shorten(wrong.Field), Shorten(wrong.Value), wrong.Type, way)
}

// maxMessage is how many characters of an error a message shows.
const maxMessage = 300

// Shorten is a text that may hold what a user wrote, as long as a message can show it.
func Shorten(text string) string {
	if utf8.RuneCountInString(text) > maxMessage {
		text = string([]rune(text)[:maxMessage]) + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
