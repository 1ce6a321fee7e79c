package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
)

// MaxPart is the largest part of a log that is read, in bytes.
const MaxPart = 2 << 20

// Part describes a part of the log of a driver that still runs. Its object begins with an empty gzip member, whose
// header has this description as a comment, and then has the text. So a part needs no index: the store shows its text
// and its description together, or nothing of them. An index that has the driver's log replaces all parts.
type Part struct {
	UID    types.UID `json:"uid"` // of the custom resource
	Number int32     `json:"attempt"`
	Pod    string    `json:"pod"`
	PodUID types.UID `json:"podUID"`
	// Offset is the size of the log before the part, and Bytes that of the part, both uncompressed and after redaction.
	// If a later part begins within this one, the rest of this part was written by an earlier leader, and does not
	// count.
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
	// Until is the end of the part in the log of the node.
	Until nodelog.Cursor `json:"until"`
	// ReadAt is when the operator read the end of the part. The log was complete up to then.
	ReadAt metav1.MicroTime `json:"readAt"`
	// Gaps is the number of places before the end of the part at which the node had removed text that was not read.
	Gaps int `json:"gaps,omitempty"`
}

const partPrefix, partSuffix = "driver.part-", ".log.gz"

// PartFile returns the name of the part that begins at an offset. The names sort by it.
func PartFile(offset int64) string { return fmt.Sprintf("%s%015d%s", partPrefix, offset, partSuffix) }

// SavePart writes a part. The text is compressed with gzip.
func (b *Bucket) SavePart(ctx context.Context, a Attempt, p Part, text []byte) error {
	p.UID, p.Number = a.UID, a.Number

	about, err := json.Marshal(p)
	if err != nil {
		return err
	}

	content := contents.Get().(*bytes.Buffer)
	content.Reset()
	content.WriteString(partHeader)
	content.Write(about)
	content.WriteString(partEnd)
	content.Write(text)

	err = b.Write(ctx, a.Dir()+PartFile(p.Offset), content.Bytes())
	if err == nil { // otherwise, a request that was cancelled may still read it
		contents.Put(content)
	}
	return err
}

// contents are the contents of parts that are written.
var contents = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// An empty gzip member is these bytes, with a comment between them (RFC 1952). The writer of the standard library would
// allocate 800 kB for each.
const (
	partHeader = "\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff"
	// The end of the comment, an empty block, its checksum and its size.
	partEnd = "\x00" + "\x03\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
)

// Parts returns the offsets of all parts of an attempt, in ascending order.
func (b *Bucket) Parts(ctx context.Context, a Attempt) (offsets []int64, _ error) {
	for object, err := range b.List(ctx, a.Dir()+partPrefix) {
		if err != nil {
			return nil, err
		}

		name := strings.TrimPrefix(object.Key, a.Dir()+partPrefix)
		if offset, err := strconv.ParseInt(strings.TrimSuffix(name, partSuffix), 10, 64); err == nil && offset >= 0 && PartFile(offset) == partPrefix+name {
			offsets = append(offsets, offset)
		}
	}

	slices.Sort(offsets)
	return offsets, nil
}

// ReadPart returns a part and its text, which is compressed with gzip. The result is nil if the part does not exist.
func (b *Bucket) ReadPart(ctx context.Context, a Attempt, offset int64) (*Part, []byte, error) {
	name := a.Dir() + PartFile(offset)

	content, err := b.Read(ctx, name, MaxPart)
	if content == nil || err != nil {
		return nil, nil, err
	}

	rest := bytes.NewReader(content)

	header, err := gzip.NewReader(rest)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not readable: %w", name, err)
	}

	header.Multistream(false)

	if n, err := header.Read(make([]byte, 1)); n > 0 || err == nil { // reads the end of the member
		return nil, nil, fmt.Errorf("%s has no description", name)
	}

	var p Part
	if err := utiljson.Unmarshal([]byte(header.Comment), &p); err != nil {
		return nil, nil, fmt.Errorf("the description of %s is not readable: %w", name, err)
	}

	if p.UID != a.UID || p.Number != a.Number || p.Offset != offset || p.Bytes < 0 {
		return nil, nil, fmt.Errorf("%s is a part of another log", name)
	}
	return &p, content[len(content)-rest.Len():], nil
}

// DeletePart deletes a part.
func (b *Bucket) DeletePart(ctx context.Context, a Attempt, offset int64) error {
	return b.Delete(ctx, a.Dir()+PartFile(offset))
}

// Plain returns the first bytes of a text that is compressed with gzip.
func Plain(data []byte, n int64) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(in, n))
}
