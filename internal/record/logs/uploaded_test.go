package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// growing is the log of a driver that runs, as its node serves it.
type growing struct {
	mu    sync.Mutex
	lines []string // each with its time
	begin int      // lines before it are rotated away
	gone  bool
}

var started = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// write appends a line, ten seconds after the last one.
func (g *growing) write(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()

	at := started.Add(time.Duration(len(g.lines)) * 10 * time.Second)
	g.lines = append(g.lines, at.Format("2006-01-02T15:04:05.000000000Z07:00")+" "+text+"\n")
}

func (g *growing) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()

	change()
}

func (g *growing) Open(_ context.Context, r stream.Request) (io.ReadCloser, error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.gone {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), r.Pod.Name)
	}

	var out bytes.Buffer
	for i, line := range g.lines {
		if at := started.Add(time.Duration(i) * 10 * time.Second); i < g.begin || at.Before(r.Since) {
			continue
		}

		if _, text, _ := strings.Cut(line, " "); !r.Times {
			line = text
		}

		out.WriteString(line)
	}
	return io.NopCloser(&out), nil
}

func (g *growing) UID(_ context.Context, pod types.NamespacedName) (types.UID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.gone {
		return "", nil
	}
	return uidOf(pod.Name), nil
}

// streaming returns a change of the options for a keeper that uploads a log.
func streaming(g *growing, url string) func(*Options) {
	return func(o *Options) {
		o.Streams = g
		o.Entries[0].Store, o.Entries[0].StreamInterval.Duration = url, 10*time.Millisecond
	}
}

// waitUploaded waits until the parts of the log have a number of bytes.
func waitUploaded(t *testing.T, b *store.Bucket, bytes int64) {
	t.Helper()

	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		offsets, err := b.Parts(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}

		size := int64(0)
		if n := len(offsets); n > 0 {
			if part, _, err := b.ReadPart(t.Context(), at, offsets[n-1]); err == nil && part != nil {
				size = part.Offset + part.Bytes
			}
		}

		if size == bytes {
			return
		}

		if time.Now().After(end) {
			t.Fatalf("%d bytes are uploaded, want %d", size, bytes)
		}
	}
}

// kept returns the text of the driver's log that is kept, and its entry in the index. No part must be left.
func keptIn(t *testing.T, b *store.Bucket) (string, *store.File) {
	t.Helper()

	index, err := b.Index(t.Context(), at)
	if err != nil || index == nil || index.Driver == nil || index.Driver.Name == "" {
		t.Fatalf("the index is %+v, %v", index, err)
	}

	in, err := b.Open(t.Context(), at, index.Driver.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()

	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}

	text, err := store.Plain(data, 1<<30)
	if err != nil {
		t.Fatal(err)
	}

	if offsets, err := b.Parts(t.Context(), at); len(offsets) > 0 || err != nil {
		t.Errorf("the parts %v are left, %v", offsets, err)
	}
	return string(text), index.Driver
}

// TestUploadedLogIsKept checks that the log that is kept at the end of an attempt is what was uploaded and the rest,
// each line once: also if the node has rotated it, if another leader uploaded it, if the operator deletes the driver,
// and if the pod is gone or lost.
func TestUploadedLogIsKept(t *testing.T) {
	const uploaded, rest = "one\ntwo\n", "three\nfour\n"

	ends := func(k *Keeper) { k.Observe(kind, key, podOf("driver", "", corev1.PodFailed)) }

	for name, test := range map[string]struct {
		change  func(*growing)
		end     func(*Keeper)
		restart bool
		want    string
		partial string
	}{
		"ended":                   {end: ends, want: uploaded + rest},
		"rotated":                 {change: func(g *growing) { g.begin = 1 }, end: ends, want: uploaded + rest},
		"another leader":          {end: ends, restart: true, want: uploaded + rest},
		"rotated, another leader": {change: func(g *growing) { g.begin = 1 }, end: ends, restart: true, want: uploaded + rest},
		"deleted by the operator": {end: func(k *Keeper) { k.Hold(kind, key, podOf("driver", "", corev1.PodRunning)) }, want: uploaded + rest},
		"pod gone": {change: func(g *growing) { g.gone = true }, end: func(k *Keeper) { k.Gone(kind, key, podOf("driver", "", corev1.PodRunning)) },
			want: uploaded, partial: "the pod was deleted before its log could be read; the operator has uploaded it until 20"},
		"pod gone, another leader": {change: func(g *growing) { g.gone = true }, end: func(k *Keeper) { k.Gone(kind, key, podOf("driver", "", corev1.PodRunning)) },
			restart: true, want: uploaded, partial: "the operator has uploaded it until 20"},
		"log removed by the node": {change: func(g *growing) { g.gone = true }, end: ends, want: uploaded, partial: "the operator has uploaded it until 20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			url := "file://" + t.TempDir()
			g := &growing{}
			ctx, stop := context.WithCancel(t.Context())
			k := startUntil(ctx, t, nil, streaming(g, url))
			b := k.places.all[0].bucket

			g.write("one")
			k.Observe(kind, key, podOf("driver", "", corev1.PodRunning))
			waitUploaded(t, b, 4)
			g.write("two")
			waitUploaded(t, b, int64(len(uploaded)))

			if got := k.Result(appUID); got == nil || got.Place != b.Place(at) || !got.KeptAt.IsZero() {
				t.Errorf("while the driver runs, the result is %+v", got)
			}

			if test.restart {
				stop()
				k.wait(t, "the end of the leader", func() bool { return !k.leads })

				k = start(t, nil, streaming(g, url))
			} else {
				k.stream.Take(uidOf("driver")) // the last lines come after the last upload
			}
			defer stop()

			g.write("three")
			g.write("four")

			if test.change != nil {
				g.set(func() { test.change(g) })
			}

			test.end(k)
			k.wait(t, "the log", k.idle)

			text, entry := keptIn(t, b)
			if text != test.want || entry.Bytes != int64(len(test.want)) || (entry.Partial == "") != (test.partial == "") || !strings.Contains(entry.Partial, test.partial) {
				t.Errorf("the kept log is %q, with %+v", text, entry)
			}

			if got := k.Result(appUID); (got.Cause.Reason == "") != (test.partial == "") || got.KeptAt.IsZero() != (test.partial != "") {
				t.Errorf("the result is %+v", got)
			}
		})
	}
}

// TestLeftoversOfUpload checks that parts that an earlier process could not delete are deleted by the next one.
func TestLeftoversOfUpload(t *testing.T) {
	url := "file://" + t.TempDir()
	k := start(t, nil, streaming(&growing{}, url))
	b := k.places.all[0].bucket

	if err := b.SavePart(t.Context(), at, store.Part{Pod: "driver", PodUID: uidOf("driver")}, nil); err != nil {
		t.Fatal(err)
	}

	if err := b.Save(t.Context(), &store.Index{Attempt: at, Driver: &store.File{Name: store.DriverFile, PodUID: uidOf("driver")}}, map[string][]byte{store.DriverFile: nil}); err != nil {
		t.Fatal(err)
	}

	k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
	k.wait(t, "the end", k.idle)

	if offsets, err := b.Parts(t.Context(), at); len(offsets) > 0 || err != nil {
		t.Errorf("the parts %v are left, %v", offsets, err)
	}
}

// TestSweepOfUploads checks that a sweep leaves the parts of a quiet driver that runs, however old they are.
func TestSweepOfUploads(t *testing.T) {
	url := "file://" + t.TempDir()
	g := &growing{}
	k := start(t, nil, func(o *Options) {
		streaming(g, url)(o)
		o.Entries[0].Retention = &metav1.Duration{Duration: time.Hour}
	})
	b := k.places.all[0].bucket

	g.write("one")
	k.Observe(kind, key, podOf("driver", "", corev1.PodRunning))
	waitUploaded(t, b, 4)
	k.Sweep(t.Context(), time.Now().Add(24*time.Hour))
	waitUploaded(t, b, 4)

	k.stream.Take(uidOf("driver"))
	k.Sweep(t.Context(), time.Now().Add(24*time.Hour))
	waitUploaded(t, b, 0)
}

// TestFirstSweep checks that a new leader deletes old logs at once, because its term may be shorter than the interval.
func TestFirstSweep(t *testing.T) {
	url := "file://" + t.TempDir()

	b, err := store.OpenBucket(t.Context(), url, hintsFor("store"))
	if err != nil {
		t.Fatal(err)
	}

	if err := b.SavePart(t.Context(), at, store.Part{}, nil); err != nil {
		t.Fatal(err)
	}

	start(t, nil, func(o *Options) {
		o.Entries[0].Store, o.Entries[0].Retention = url, &metav1.Duration{Duration: -time.Hour} // everything is older
	})

	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if offsets, err := b.Parts(t.Context(), at); err == nil && len(offsets) == 0 {
			return
		}

		if time.Now().After(end) {
			t.Fatal("the old logs are still there")
		}
	}
}

// stuck is a store that does not answer, not even after a timeout.
type stuck struct {
	store.Logs
	end <-chan struct{}
}

func (s stuck) Index(context.Context, store.Attempt) (*store.Index, error) {
	<-s.end
	return nil, context.Canceled
}

// uidIn returns the UID of the application of a namespace.
func uidIn(namespace string) types.UID { return types.UID(appUID[:7] + namespace + appUID[8:]) }

// TestStoresThatHang checks that two stores that do not answer delay no log of a third one, however many logs wait for
// them.
func TestStoresThatHang(t *testing.T) {
	logs := lines{}
	for i := range 50 {
		for _, of := range []string{"a", "b", "c"} {
			logs[fmt.Sprintf("exec-%s-%d", of, i)] = text("text")
		}
	}

	k := start(t, logs, func(o *Options) {
		o.Entries = nil
		for _, of := range []string{"a", "b", "c"} {
			o.Entries = append(o.Entries, keptlogs.Entry{Store: "file://" + t.TempDir(), NamespaceSelector: "of=" + of, Wait: &metav1.Duration{Duration: time.Hour}, MaxExecutors: new(100)})
		}

		o.Labels = func(namespace string) map[string]string { return map[string]string{"of": namespace} }
	})

	end := make(chan struct{})
	t.Cleanup(func() { close(end) })

	for i := range 2 {
		k.places.all[i].store = stuck{k.places.all[i].store, end}
	}

	observe := func(of string) {
		for i := range 50 {
			pod := podOf(fmt.Sprintf("exec-%s-%d", of, i), fmt.Sprint(i), corev1.PodFailed)
			pod.Namespace = of
			pod.Labels[identity.AppUIDLabel] = string(uidIn(of))
			k.Observe(kind, types.NamespacedName{Namespace: of, Name: "pi"}, pod)
		}
	}
	observe("a")
	observe("b")
	k.wait(t, "tasks that wait for their stores", func() bool { return len(k.tasks) == 100 })

	observe("c")
	k.wait(t, "the logs of the store that answers", func() bool { return len(k.tasks) == 100 && k.results[uidIn("c")].Place != "" })

	for _, waits := range k.tasks {
		if waits.pod.Namespace == "c" {
			t.Error("a log of the store that answers is not kept")
		}
	}
}

// TestHoldBeforeStart checks that a pass of a new leader that begins before its keeper of logs does not delete a pod.
func TestHoldBeforeStart(t *testing.T) {
	k, err := New(t.Context(), Options{
		Entries: []keptlogs.Entry{{Store: "file://" + t.TempDir()}}, Metrics: noMetrics{},
		List: func(context.Context, func(schema.GroupVersionKind, types.NamespacedName, *corev1.Pod)) {},
	})
	if err != nil {
		t.Fatal(err)
	}

	if k.Hold(kind, key, podOf("driver", "", corev1.PodFailed)) == 0 {
		t.Error("the deletion does not wait")
	}
}
