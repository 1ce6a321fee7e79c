package stream

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// TestEndOfRepeatedText checks that the beginning and the end of a log are kept if its text is compressed to almost
// nothing, such as the dots of a progress bar. Such a part was once closed by its compressed size alone, so it was
// larger than what is kept of a log, and everything after the first part was dropped.
func TestEndOfRepeatedText(t *testing.T) {
	const limit, size = 1 << 20, 12 << 20

	text := strings.Repeat(strings.Repeat(".", 1023)+"\n", size/1024) + "the end\n"

	for name, upload := range map[string]func(*testing.T, *store.Bucket, *node){
		"by this process": func(t *testing.T, b *store.Bucket, n *node) {
			t.Helper()

			if err := logIn(b, limit, nil).read(t.Context(), n); err != nil {
				t.Fatal(err)
			}

			offsets, err := b.Parts(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}

			for _, offset := range offsets {
				if part, _, err := b.ReadPart(t.Context(), at, offset); err != nil || part.Bytes > partText+2*capture.ChunkSize {
					t.Errorf("a part has %d bytes, %v", part.Bytes, err)
				}
			}
		},
		"by an earlier version, in one part": func(t *testing.T, b *store.Bucket, _ *node) {
			t.Helper()

			part := store.Part{PodUID: "u-1", Bytes: int64(len(text)), Until: nodelog.Cursor{Time: start, Lines: strings.Count(text, "\n")}}
			if err := b.SavePart(t.Context(), at, part, capture.Compress([]byte(text))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := directory(t)
			n := &node{clock: start, uid: "u-1"}
			n.write(text)
			upload(t, b, n)
			n.write("later\n")

			l := logIn(b, limit, nil)
			got, whole := finished(t, l, n, limit)
			_, kept := whole.File(0)

			if !strings.HasPrefix(got, text[:limit/16]) || !strings.HasSuffix(got, "\nthe end\nlater\n") {
				t.Errorf("the log begins with %.20q and ends with %q", got, got[max(0, len(got)-20):])
			}

			if total := int64(len(text) + len("later\n")); whole.Total() != total || kept > limit+capture.ChunkSize || kept < limit*3/4 {
				t.Errorf("%d bytes of %d are kept, want %d of %d", kept, whole.Total(), limit, total)
			}
		})
	}
}
