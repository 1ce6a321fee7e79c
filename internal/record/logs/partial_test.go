package logs

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
)

// breaking is a log whose next stream breaks after all lines. Then the node does not have the log any more.
type breaking struct {
	*growing
	mu     sync.Mutex
	breaks bool
}

func (b *breaking) Open(ctx context.Context, r stream.Request) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	in, err := b.growing.Open(ctx, r)
	if err != nil || !b.breaks {
		return in, err
	}

	b.set(func() { b.gone = true })
	return io.NopCloser(io.MultiReader(in, iotest.ErrReader(errors.New("connection reset")))), nil
}

// TestPartStays checks that the part of a log that was read before its stream broke stays in the index and in the store
// if a later try reads less, or cannot read the log any more. The entry of the part was once replaced by one that says
// why the log is missing, or by the parts that were uploaded before.
func TestPartStays(t *testing.T) {
	const part = "first and second\n"

	broken := func(text string) func(context.Context) (io.Reader, error) {
		return func(context.Context) (io.Reader, error) {
			return io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("connection reset"))), nil
		}
	}
	fails := func(err error) func(context.Context) (io.Reader, error) {
		return func(context.Context) (io.Reader, error) { return nil, err }
	}

	for name, then := range map[string]func(context.Context) (io.Reader, error){
		"removed":  fails(apierrors.NewNotFound(corev1.Resource("pods"), "driver")),
		"rejected": fails(apierrors.NewBadRequest("unable to retrieve container logs")),
		"shorter":  broken("first"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, lines{"driver": inTurn(broken(part), then)}, nil)
			k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
			k.wait(t, "the log", k.idle)
			wantPart(t, k, part)
		})
	}

	t.Run("uploaded", func(t *testing.T) {
		t.Parallel()

		url := "file://" + t.TempDir()
		log := &breaking{growing: &growing{}}
		k := start(t, nil, func(o *Options) {
			streaming(log.growing, url)(o)
			o.Streams = log
		})

		log.write("first")
		k.Observe(kind, key, podOf("driver", "", corev1.PodRunning))
		waitUploaded(t, k.places.all[0].bucket, int64(len("first\n")))
		k.stream.Take(uidOf("driver")) // the last line comes after the last upload
		log.mu.Lock()
		log.breaks = true
		log.mu.Unlock()
		log.write("second")

		k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
		k.wait(t, "the log", k.idle)
		wantPart(t, k, "first\nsecond\n")
	})
}

// wantPart checks that the store has a part of the driver's log, and that the index and the result say that it is one.
func wantPart(t *testing.T, k *Keeper, want string) {
	t.Helper()

	index, err := k.places.all[0].bucket.Index(t.Context(), at)
	if err != nil || index == nil {
		t.Fatalf("the index is %+v, %v", index, err)
	}

	if index.Driver == nil || index.Driver.Name == "" {
		t.Fatalf("the index has %+v", index.Driver)
	}

	text, entry := keptIn(t, k.places.all[0].bucket)
	if text != want || entry.Bytes != int64(len(want)) || !strings.Contains(entry.Partial, "connection reset") {
		t.Errorf("the kept log is %q, with %+v", text, entry)
	}

	if got := k.Result(appUID); got.Cause.Reason != ReasonUnreadable || !strings.Contains(got.Cause.Message, entry.Partial) || !got.KeptAt.IsZero() {
		t.Errorf("the result is %+v", got)
	}
}

// TestUploadsAfterShorterPart checks that the uploaded text of a log becomes the kept log if an earlier try has stored
// a part that is shorter, such as one that began after the node had rotated the log, and the pod is gone. The uploaded
// text was once deleted because the index had an entry.
func TestUploadsAfterShorterPart(t *testing.T) {
	const uploaded = "one\ntwo\n"

	k := start(t, nil, streaming(&growing{gone: true}, "file://"+t.TempDir()))
	b := k.places.all[0].bucket

	part := store.Part{Pod: "driver", PodUID: uidOf("driver"), Bytes: int64(len(uploaded))}
	if err := b.SavePart(t.Context(), at, part, capture.Compress([]byte(uploaded))); err != nil {
		t.Fatal(err)
	}

	index := &store.Index{Attempt: at, Driver: &store.File{Name: store.DriverFile, Pod: "driver", PodUID: uidOf("driver"), Bytes: 4, Kept: 4, Partial: "connection reset"}}
	if err := b.Save(t.Context(), index, map[string][]byte{store.DriverFile: capture.Compress([]byte("two\n"))}); err != nil {
		t.Fatal(err)
	}

	k.Gone(kind, key, podOf("driver", "", corev1.PodRunning))
	k.wait(t, "the log", k.idle)

	if text, entry := keptIn(t, b); text != uploaded || entry.Bytes != int64(len(uploaded)) || entry.Partial == "" {
		t.Errorf("the kept log is %q, with %+v", text, entry)
	}
}
