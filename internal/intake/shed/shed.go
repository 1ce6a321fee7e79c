// Package shed removes the parts of objects in Kubernetes' protobuf encoding that nobody reads, before they are
// decoded.
package shed

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message specifies the fields of a protobuf message that are kept. Other fields are removed without being decoded,
// because decoding is most of the cost of an incoming object.
type Message struct {
	fields [maxField + 1]*Message
	named  []string
	whole  bool
	as     func(out, in []byte) []byte // appends the replacement of the value
}

// maxField is the highest field number that can be kept. Fields with higher numbers are removed.
const maxField = 63

// Whole specifies that a message, or a value of another type, is kept as it is.
var Whole = &Message{whole: true}

// Fields returns a Message that keeps the fields with these numbers. It panics if a number is higher than maxField.
func Fields(fields map[protowire.Number]*Message) *Message {
	m := &Message{}
	for number, field := range fields {
		m.fields[number] = field
	}
	return m
}

// Named returns a Message that keeps a message as a whole if its first field has one of the given values, and otherwise
// removes it as a whole. In an entry of a map, the first field is the key.
func Named(names ...string) *Message { return &Message{named: names} }

// errMalformed is the error for bytes that are not a protobuf message.
var errMalformed = errors.New("not a protocol buffers message")

// Append appends the kept part of a message to out. It returns an error if the input is not a protobuf message.
func (m *Message) Append(out, in []byte) ([]byte, error) {
	for len(in) > 0 {
		number, kind, tag := protowire.ConsumeTag(in)
		if tag < 0 {
			return out, errMalformed
		}

		size := protowire.ConsumeFieldValue(number, kind, in[tag:])
		if size < 0 {
			return out, errMalformed
		}

		field, value := in[:tag+size], in[tag:tag+size]
		in = in[tag+size:]

		var err error
		if out, err = m.field(number).keep(out, field, value, number, kind); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (m *Message) field(number protowire.Number) *Message {
	if number > maxField {
		return nil
	}
	return m.fields[number]
}

// keep appends the kept part of one field to out. That is the whole field, the field with a reduced message, or
// nothing.
func (m *Message) keep(out, field, value []byte, number protowire.Number, kind protowire.Type) ([]byte, error) {
	switch {
	case m == nil:
		return out, nil
	case m.whole || kind != protowire.BytesType:
		return append(out, field...), nil
	}

	inner, _ := protowire.ConsumeBytes(value)
	switch {
	case m.as != nil:
		return within(out, number, func(out []byte) ([]byte, error) { return m.as(out, inner), nil })
	case m.named == nil:
		return within(out, number, func(out []byte) ([]byte, error) { return m.Append(out, inner) })
	case m.names(first(inner)):
		return append(out, field...), nil
	}
	return out, nil
}

// names reports whether the given name is one of the names that were passed to Named.
func (m *Message) names(name []byte) bool {
	return slices.ContainsFunc(m.named, func(n string) bool { return n == string(name) })
}

// first returns the value of a message's first field, or nil if the value is not bytes.
func first(message []byte) []byte {
	number, kind, tag := protowire.ConsumeTag(message)
	if tag < 0 || number != 1 || kind != protowire.BytesType {
		return nil
	}

	value, size := protowire.ConsumeBytes(message[tag:])
	if size < 0 {
		return nil
	}
	return value
}

// within appends a field to out. The function inner appends the content of the field; within writes the tag and the
// length before it.
func within(out []byte, number protowire.Number, inner func([]byte) ([]byte, error)) ([]byte, error) {
	out = protowire.AppendTag(out, number, protowire.BytesType)
	begin := len(out)

	out, err := inner(out)
	if err != nil {
		return out, err
	}

	size := len(out) - begin
	prefix := protowire.SizeVarint(uint64(size))
	out = append(out, make([]byte, prefix)...)
	copy(out[begin+prefix:], out[begin:begin+size])
	protowire.AppendVarint(out[:begin], uint64(size))
	return out, nil
}

// magic is the prefix of each protobuf object from the API server (Kubernetes: runtime/serializer/protobuf). A
// runtime.Unknown follows it.
var magic = []byte("k8s\x00")

// These are the field numbers of runtime.Unknown, metav1.TypeMeta and metav1.WatchEvent (Kubernetes: generated.proto).
const (
	unknownTypeMeta, unknownRaw = 1, 2
	typeMetaKind                = 2
	eventType, eventObject      = 1, 2
	extensionRaw                = 1
)

// Kinds specifies which part of an object is kept, by the kind of the object. Objects of other kinds are kept whole.
type Kinds map[string]*Message

// Shed reduces an object to the part that Kinds specifies for its kind. The input and the result have the API server's
// protobuf encoding. Shed returns the input unchanged if Kinds does not contain the object's kind, or if it cannot read
// the input.
func (k Kinds) Shed(object []byte) []byte { return k.Objects().Append(nil, object) }

// Objects contains the specifications of Kinds in another form: its Messages describe the envelope (runtime.Unknown) in
// which the API server encodes an object.
type Objects map[string]*Message

// Objects returns the specifications for encoded objects.
func (k Kinds) Objects() Objects {
	o := Objects{}
	for kind, kept := range k {
		o[kind] = Fields(map[protowire.Number]*Message{unknownTypeMeta: Whole, unknownRaw: kept})
	}
	return o
}

// Event returns the specification that reduces the object inside a metav1.WatchEvent.
func (o Objects) Event() *Message {
	return Fields(map[protowire.Number]*Message{eventType: Whole, eventObject: Fields(map[protowire.Number]*Message{extensionRaw: {as: o.Append}})})
}

// Append appends the kept part of an object to out. If Objects does not contain the kind of the object, or if the input
// cannot be read, it appends the input unchanged. In the second case, the client reports the error.
func (o Objects) Append(out, in []byte) []byte {
	unknown, found := bytes.CutPrefix(in, magic)

	kept := o[string(valueOf(valueOf(unknown, unknownTypeMeta), typeMetaKind))]
	if !found || kept == nil {
		return append(out, in...)
	}

	begin := len(out)

	out, err := kept.Append(append(out, magic...), unknown)
	if err != nil {
		return append(out[:begin], in...)
	}
	return out
}

// valueOf returns the bytes of the first field of a message that has this number, or nil.
func valueOf(message []byte, want protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil
		}

		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return nil
		}

		if number == want && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[tag:])
			return value
		}

		message = message[tag+size:]
	}
	return nil
}

// keptKey is the context key of the Kinds that With adds.
type keptKey struct{}

// With returns a context for requests. Responses to these requests are reduced to the parts that kept specifies, if
// their client uses the transport that transport.Shedding returns.
func With(ctx context.Context, kept Kinds) context.Context {
	return context.WithValue(ctx, keptKey{}, kept)
}

// From returns the Kinds that With added to a context.
func From(ctx context.Context) (kept Kinds, found bool) {
	kept, found = ctx.Value(keptKey{}).(Kinds)
	return kept, found
}
