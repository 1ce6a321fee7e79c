package kept

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// uploaded prints what the operator has uploaded of the log of a driver that has not ended yet, or whose end the
// operator did not see. It reports false if that is nothing.
func (r *Reader) uploaded(ctx context.Context, logs store.Logs, a store.Attempt, o kube.LogOptions, out io.Writer) (bool, error) {
	bucket, ok := logs.(*store.Bucket)
	if !ok {
		return false, nil
	}

	offsets, err := bucket.Parts(ctx, a)
	if err != nil {
		return false, exit.With(exit.Cluster, err)
	}

	if len(offsets) == 0 {
		return false, nil
	}

	last, _, err := bucket.ReadPart(ctx, a, offsets[len(offsets)-1])
	if err != nil {
		return false, exit.With(exit.Cluster, err)
	}

	if last == nil {
		return false, nil // the operator has replaced the parts by the whole log just now
	}

	r.note("this is what the operator has uploaded of the log of pod %s while the driver ran: everything that was written until %s; later lines are not shown",
		bounds.Line(last.Pod), last.ReadAt.UTC().Format(time.RFC3339))

	if last.Gaps > 0 {
		r.note("in %s of the log, lines are missing that the node had removed", bounds.Count(int32(last.Gaps), "place"))
	}

	text := &parts{ctx: ctx, bucket: bucket, attempt: a, offsets: offsets}
	if err := r.copyLines(ctx, text, o.Tail, "", out); err != nil {
		return true, exit.With(exit.Cluster, err)
	}
	return true, nil
}

// parts reads the text of the parts of a log, one after the other.
type parts struct {
	ctx     context.Context
	bucket  *store.Bucket
	attempt store.Attempt
	offsets []int64 // those that are not read yet
	end     int64   // of the text that was read
	text    io.Reader
}

// Read implements io.Reader.
func (p *parts) Read(buffer []byte) (int, error) {
	for {
		if p.text != nil {
			n, err := p.text.Read(buffer)
			if n > 0 {
				return n, nil // the end of a part is not the end of the log
			}

			if !errors.Is(err, io.EOF) {
				return 0, err
			}

			p.text = nil
		}

		if len(p.offsets) == 0 {
			return 0, io.EOF
		}

		if err := p.next(); err != nil {
			return 0, err
		}
	}
}

// next opens the next part. A part counts only up to where the part after it begins.
func (p *parts) next() error {
	offset := p.offsets[0]
	p.offsets = p.offsets[1:]

	part, data, err := p.bucket.ReadPart(p.ctx, p.attempt, offset)
	if part == nil || err != nil {
		return err
	}

	text, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("the part of the log at %d bytes is damaged: %w", offset, err)
	}

	size := part.Bytes
	if len(p.offsets) > 0 {
		size = min(size, p.offsets[0]-offset)
	}

	p.text = io.LimitReader(text, size)
	if missing := offset - p.end; missing > 0 {
		p.text = io.MultiReader(bytes.NewReader(fmt.Appendf(nil, "\n[... %d bytes of the log were not kept ...]\n", missing)), p.text)
	}

	p.end = offset + size
	return nil
}
