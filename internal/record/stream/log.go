package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// partSize is the size from which a part is closed, in compressed bytes. Until then, each upload replaces the part by a
// longer one, so that a log has few objects. The operator holds the open part in memory for that.
const partSize = 32 << 10

// partText is the size from which a part is closed, in bytes of the log. Text that is compressed to almost nothing,
// such as the dots of a progress bar, would otherwise make a part larger than what is kept of a log.
const partText = 1 << 20

// Log is the log of a container that is uploaded while the container runs.
type Log struct {
	Attempt   store.Attempt
	Pod       types.NamespacedName
	UID       types.UID
	Node      string
	Container string
	Bucket    *store.Bucket
	Store     string // the URL of the store in the configuration
	Redact    func([]byte) []byte
	Head      int64 // how much of the beginning is kept
	Limit     int64 // how much of the log is kept, with the beginning
	Interval  time.Duration

	mu     sync.Mutex // guards the rest; held while the log is read
	loaded bool
	memory *capture.Memory
	at     nodelog.Cursor
	total  int64 // bytes until the cursor, after redaction
	gaps   int
	readAt time.Time // the log was complete up to then
	parts  []span    // the closed parts that the store has, in order
	open   []byte    // the text of the open part, compressed; the store has it, too
	begin  int64     // the offset of the open part

	last   time.Time // when the last successful read began
	fails  int       // reads that failed since then
	ended  bool      // guarded by the lock of the Streamer
	cancel context.CancelFunc
}

// span is a closed part.
type span struct{ offset, bytes int64 }

// load reads where an earlier process has stopped.
func (l *Log) load(ctx context.Context) error {
	if l.loaded {
		return nil
	}

	offsets, err := l.Bucket.Parts(ctx, l.Attempt)
	if err != nil {
		return err
	}

	for i, offset := range offsets {
		if i+1 < len(offsets) {
			l.parts = append(l.parts, span{offset, offsets[i+1] - offset})
			continue
		}

		last, _, err := l.Bucket.ReadPart(ctx, l.Attempt, offset)
		if err != nil || last == nil {
			l.parts = nil
			return errors.Join(err, context.Cause(ctx))
		}

		l.parts = append(l.parts, span{offset, last.Bytes})
		l.at, l.total, l.gaps, l.readAt = last.Until, offset+last.Bytes, last.Gaps, last.ReadAt.Time

		if last.PodUID != l.UID { // another pod had this attempt before
			l.at = nodelog.Cursor{}
		}
	}

	l.begin, l.loaded = l.total, true
	return nil
}

// errOtherPod is the error of a log whose pod does not have its name any more.
var errOtherPod = errors.New("another pod has the name")

// read uploads what the log has after the position. If it fails, everything that was uploaded counts.
func (l *Log) read(ctx context.Context, source Source) error {
	if err := l.load(ctx); err != nil {
		return err
	}

	started := time.Now()

	stream, err := source.Open(ctx, Request{Pod: l.Pod, Container: l.Container, Times: true, Since: l.at.Since()})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()

	space := spaces.Get().(*space)
	defer spaces.Put(space)

	u := &upload{Log: l, ctx: ctx, source: source, lines: nodelog.After(l.at), readAt: started, sure: !l.at.Time.IsZero(), space: space}
	u.pending, u.fresh = u.pending[:0], u.fresh[:0]

	if err := u.lines.Copy(stream, u.pass); err != nil {
		return err
	}

	// The rest of the last line comes with the next read.
	if end := bytes.LastIndexByte(u.pending, '\n') + 1; end > 0 {
		u.compress(end)
	}

	if len(u.fresh) > 0 {
		err = u.put()
	}
	return err
}

// upload is one read of a log.
type upload struct {
	*Log
	ctx    context.Context
	source Source
	lines  *nodelog.Lines
	readAt time.Time
	sure   bool // the log is that of our pod
	// counted is true if the gap of this read is among the gaps of the log.
	counted bool

	*space
	bytes int64 // size of the fresh text
}

// space is the memory of a read, which later reads use again.
type space struct {
	pending []byte // text that is not compressed yet
	fresh   []byte // compressed text that is not uploaded yet
}

var spaces = sync.Pool{New: func() any { return new(space) }}

// pass takes a piece of the log.
func (u *upload) pass(text []byte) error {
	u.pending = append(u.pending, text...)
	if len(u.pending) < capture.ChunkSize {
		return nil
	}

	u.compress(capture.Border(u.pending, true))

	if len(u.open)+len(u.fresh) < partSize && u.total+u.bytes-u.begin < partText {
		return nil
	}
	return u.put()
}

// compress redacts and compresses the first pending bytes.
func (u *upload) compress(end int) {
	text := u.pending[:end]
	if u.Redact != nil {
		text = u.Redact(text)
	}

	u.fresh, u.bytes = append(u.fresh, capture.Compress(text)...), u.bytes+int64(len(text))
	u.pending = append(u.pending[:0], u.pending[end:]...)
}

// put uploads the fresh text.
func (u *upload) put() error {
	l := u.Log

	// A line of the log that was there before shows that the pod is the same. Otherwise, a pod of the next attempt may
	// have the name by now.
	if !u.sure || u.lines.Lost() {
		if uid, err := u.source.UID(u.ctx, l.Pod); err != nil {
			return err
		} else if uid != l.UID {
			return errOtherPod
		}

		u.sure = true
	}

	gaps := l.gaps
	if u.lines.Lost() && !u.counted {
		gaps++
	}

	at, total := u.lines.Position(len(u.pending)), l.total+u.bytes
	content := append(slices.Clip(l.open), u.fresh...)
	part := store.Part{
		Pod: l.Pod.Name, PodUID: l.UID, Offset: l.begin, Bytes: total - l.begin, Until: at, ReadAt: metav1.NewMicroTime(u.readAt), Gaps: gaps,
	}

	if err := l.Bucket.SavePart(u.ctx, l.Attempt, part, content); err != nil {
		return err
	}

	l.at, l.total, l.gaps, l.readAt, u.counted = at, total, gaps, u.readAt, u.lines.Lost()
	if len(content) < partSize && part.Bytes < partText && l.memory.Take(int64(len(u.fresh))) {
		l.open = content
	} else {
		l.close(u.ctx)
	}

	u.fresh, u.bytes = u.fresh[:0], 0
	return nil
}

// close closes the open part, and deletes parts that will not be kept: those after the beginning of the log, of which
// later parts have enough.
func (l *Log) close(ctx context.Context) {
	l.memory.Give(int64(len(l.open)))
	l.parts = append(l.parts, span{l.begin, l.total - l.begin})
	l.open, l.begin = nil, l.total

	tail := int64(0)
	for i := len(l.parts) - 1; i >= 0 && l.parts[i].offset >= l.Head; i-- {
		if tail < l.Limit-l.Head {
			tail += l.parts[i].bytes
			continue
		}

		if l.Bucket.DeletePart(ctx, l.Attempt, l.parts[i].offset) == nil {
			l.parts = append(l.parts[:i], l.parts[i+1:]...)
		}
	}
}

// Load reads what the store has of the log, if that is not known yet. The log must not be streamed any more.
func (l *Log) Load(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.load(ctx)
}

// Size returns the number of bytes that were uploaded, and up to when the log is complete with them.
func (l *Log) Size() (bytes int64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.readAt
}

// Since returns the first second of the lines that were not uploaded; zero if that are all.
func (l *Log) Since() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.Since()
}

// Rest copies the text after the uploaded text from a log whose lines have times.
func (l *Log) Rest(log io.Reader, out io.Writer) error {
	l.mu.Lock()
	from := l.at
	l.mu.Unlock()

	return nodelog.After(from).Copy(log, func(text []byte) error {
		_, err := out.Write(text)
		return err
	})
}

// Add adds the uploaded text to a capture.
func (l *Log) Add(ctx context.Context, out *capture.Capture) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	type piece struct {
		offset, bytes int64
		text          []byte
	}

	var pieces []piece
	for _, p := range l.parts {
		part, text, err := l.Bucket.ReadPart(ctx, l.Attempt, p.offset)
		if err != nil {
			return err
		}

		if part == nil {
			continue // somebody has deleted it; the text before the next part is missing
		}

		if part.Bytes > p.bytes { // an earlier leader wrote it after this process had begun
			if text, err = beginning(text, p.bytes); err != nil {
				return err
			}
		}

		pieces = append(pieces, piece{p.offset, min(part.Bytes, p.bytes), text})
	}

	if l.total > l.begin {
		pieces = append(pieces, piece{l.begin, l.total - l.begin, l.open})
	}

	for _, p := range pieces {
		out.Skip(p.offset - out.Total())

		if err := out.Append(p.text, p.bytes); err != nil {
			return damaged(err)
		}
	}

	out.Skip(l.total - out.Total())
	return nil
}

// beginning returns the first bytes of a compressed text, compressed.
func beginning(data []byte, n int64) ([]byte, error) {
	text, err := store.Plain(data, n)
	if err != nil {
		return nil, damaged(err)
	}
	return capture.Compress(text), nil
}

func damaged(err error) error { return fmt.Errorf("a part of the log is damaged: %w", err) }

// Remove deletes all parts, after the log is kept.
func (l *Log) Remove(ctx context.Context) error {
	offsets, err := l.Bucket.Parts(ctx, l.Attempt)
	for _, offset := range offsets {
		err = errors.Join(err, l.Bucket.DeletePart(ctx, l.Attempt, offset))
	}
	return err
}

// Release returns the memory of the log, which is not read any more.
func (l *Log) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.memory != nil {
		l.memory.Give(int64(len(l.open)))
	}

	l.open, l.memory, l.loaded, l.parts = nil, nil, false, nil
}
