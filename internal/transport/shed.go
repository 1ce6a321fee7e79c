package transport

import (
	"bytes"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message says what is kept of a message of protocol buffers. What is left out is never decoded, which is most of what an object costs that comes in.
type Message struct {
	fields [maxField + 1]*Message
	named  []string
	whole  bool
	as     func(out, in []byte) []byte // appends what stands for the value
}

// maxField is the highest number of a field that can be named. What has a higher one is left out.
const maxField = 63

// Whole is a message, or a value of another type, that is kept as it is.
var Whole = &Message{whole: true}

// Fields is a message of which the fields with these numbers are kept. It panics where a number is higher than 63.
func Fields(fields map[protowire.Number]*Message) *Message {
	m := &Message{}
	for number, field := range fields {
		m.fields[number] = field
	}
	return m
}

// Named is a message that is kept whole if its first field, such as the key of a map's entry, is one of these; else it is left out.
func Named(names ...string) *Message { return &Message{named: names} }

// errMalformed is of bytes that are not a message.
var errMalformed = errors.New("not a message of protocol buffers")

// shed appends to out what is kept of a message.
func (m *Message) shed(out, in []byte) ([]byte, error) {
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

// keep appends to out what is kept of one field: all of it, or a message in it.
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
		return within(out, number, func(out []byte) ([]byte, error) { return m.shed(out, inner) })
	case m.names(first(inner)):
		return append(out, field...), nil
	}
	return out, nil
}

// names reports whether a name is one of those of Named.
func (m *Message) names(name []byte) bool {
	return slices.ContainsFunc(m.named, func(n string) bool { return n == string(name) })
}

// first is the value of a message's first field, if that holds bytes.
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

// within appends a field that holds what inner appends.
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

// magic begins each object that the API server sends as protocol buffers (Kubernetes: runtime/serializer/protobuf); a runtime.Unknown follows.
var magic = []byte("k8s\x00")

// Numbers of fields of runtime.Unknown, metav1.TypeMeta and metav1.WatchEvent (Kubernetes: generated.proto).
const (
	unknownTypeMeta, unknownRaw = 1, 2
	typeMetaKind                = 2
	eventType, eventObject      = 1, 2
	extensionRaw                = 1
)

// Kinds say what is kept of objects, by their kind. Objects of other kinds are kept whole.
type Kinds map[string]*Message

// Shed returns what is kept of an object as the API server sends it. What is none, or cannot be read, is returned as it is.
func (k Kinds) Shed(object []byte) []byte { return k.objects().shed(nil, object) }

// objects are Kinds in their envelopes.
type objects map[string]*Message

func (k Kinds) objects() objects {
	o := objects{}
	for kind, kept := range k {
		o[kind] = Fields(map[protowire.Number]*Message{unknownTypeMeta: Whole, unknownRaw: kept})
	}
	return o
}

// event is what is kept of a metav1.WatchEvent.
func (o objects) event() *Message {
	return Fields(map[protowire.Number]*Message{eventType: Whole, eventObject: Fields(map[protowire.Number]*Message{extensionRaw: {as: o.shed}})})
}

// shed appends to out what is kept of an object. What is none, or cannot be read, is appended as it is: it is for the client to say what is wrong with it.
func (o objects) shed(out, in []byte) []byte {
	unknown, found := bytes.CutPrefix(in, magic)
	kept := o[string(valueOf(valueOf(unknown, unknownTypeMeta), typeMetaKind))]
	if !found || kept == nil {
		return append(out, in...)
	}
	begin := len(out)
	out, err := kept.shed(append(out, magic...), unknown)
	if err != nil {
		return append(out[:begin], in...)
	}
	return out
}

// valueOf is what a message's first field of this number holds, if that is bytes.
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
