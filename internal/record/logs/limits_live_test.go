package logs_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// liveHeap returns the bytes of the objects that the last garbage collection found in use.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) //nolint:gosec // no heap is that large
}

// peak collects garbage and measures the heap at each call of the function measure. It returns the largest growth.
func peak() (measure func(), growth func() int64) {
	runtime.GC()

	before := liveHeap()

	var most atomic.Int64
	measure = func() {
		runtime.GC()

		for now := liveHeap() - before; ; {
			last := most.Load()
			if now <= last || most.CompareAndSwap(last, now) {
				return
			}
		}
	}
	return measure, most.Load
}

// TestHugeLine checks a log that is one line of 64 MiB, or of 2 GiB with SOAK=1. The head and the end are kept, the
// mark has the exact number of bytes between them, and the memory does not grow with the log.
func TestHugeLine(t *testing.T) {
	const chunk, maxBytes = 1 << 20, 4 << 20

	chunks := 64
	if os.Getenv("SOAK") != "" {
		chunks = 2048
	}

	random := make([]byte, chunk/4*3)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}

	line := []byte(base64.StdEncoding.EncodeToString(random)) // hardly compressible
	k := keep(t, directory(t), func(l *keptlogs.Entry) { l.MaxBytes = "4Mi" })
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "")
	measure, growth := peak()
	k.node.Serve(driver.Name, func(w http.ResponseWriter, _ *http.Request) {
		for i := range chunks {
			if _, err := w.Write(line); err != nil {
				return
			}

			if i%(chunks/16) == 0 {
				measure()
			}
		}
	})
	k.Execute(driver, done(0))
	k.waitStatus("pi", 1, "")

	text, file, err := k.text(app, 1, "")
	if err != nil {
		t.Fatal(err)
	}

	total := int64(chunks * chunk)
	mark := fmt.Sprintf("\n[... %d bytes of the log were not kept ...]\n", total-file.Kept)

	head, tail, found := strings.Cut(text, mark)
	if !found || file.Bytes != total || file.Kept > maxBytes || file.Kept < maxBytes*3/4 || int64(len(head)+len(tail)) != file.Kept {
		t.Errorf("the index has %+v, and the text %d bytes with the mark: %t", file, len(text), found)
	}

	if all := strings.Repeat(string(line), 5); !strings.HasPrefix(all, head) || !strings.HasSuffix(all, tail) {
		t.Error("the text is not that of the log")
	}

	t.Logf("%d MiB in a line: the heap grew by %d KiB", chunks, growth()>>10)

	// The connections of the kubelet, the API server's proxy and the compressor have buffers too.
	if growth() > maxBytes+24<<20 {
		t.Errorf("the heap grew by %d MiB", growth()>>20)
	}
}

// TestThousandsOfFailedExecutors lets 500 executors (5,000 with SOAK=1) fail at once, half of them before the end of
// the driver and half of them afterwards. The first 20 logs and the driver's are kept, and the index has the exact
// number of the others. The memory is bounded.
func TestThousandsOfFailedExecutors(t *testing.T) {
	executors := 500
	if os.Getenv("SOAK") != "" {
		executors = 5000
	}

	const kept = 20
	k := keep(t, directory(t), func(l *keptlogs.Entry) { l.MaxExecutors = new(kept) })
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "driver\n")
	k.WaitState("pi", v1beta2.ApplicationStateRunning)

	measure, growth := peak()

	var read atomic.Int64
	log := strings.Repeat("0123456789abcdef", 1<<16) // four times as much as is kept
	all := func(pods []*corev1.Pod, act func(*corev1.Pod) error) {
		t.Helper()

		var group errgroup.Group
		group.SetLimit(16)

		for _, pod := range pods {
			group.Go(func() error { return act(pod) })
		}

		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}

		measure()
	}
	report := func(phase corev1.PodPhase, state corev1.ContainerState) func(*corev1.Pod) error {
		return func(pod *corev1.Pod) error {
			before := pod.DeepCopy()
			pod.Status.Phase, pod.Status.ContainerStatuses = phase, []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state}}
			return k.API.Status().Patch(t.Context(), pod, client.MergeFrom(before))
		}
	}

	pods := make([]*corev1.Pod, executors)
	for i := range pods {
		pods[i] = k.Executor(app, driver, i+1)
		pods[i].Spec.NodeName = k.node.Name
		k.node.Serve(pods[i].Name, func(w http.ResponseWriter, _ *http.Request) {
			read.Add(1)

			_, _ = w.Write([]byte(log))
		})
	}

	all(pods, func(pod *corev1.Pod) error { return k.API.Create(t.Context(), pod) })
	all(pods, report(corev1.PodRunning, world.Running()))
	all(pods[:executors/2], report(corev1.PodFailed, done(1)))
	k.Execute(driver, done(1))
	k.waitText(app, 1, "", "driver\n")
	all(pods[executors/2:], report(corev1.PodFailed, done(1)))

	kit.Wait(t, "the number of omitted logs", func(context.Context) error {
		index, err := k.logs.Index(t.Context(), attemptOf(app, 1))
		if err == nil && (len(index.Executors) != kept || index.Omitted != executors-kept) {
			err = fmt.Errorf("the index has %d executors, and %d are omitted", len(index.Executors), index.Omitted)
		}
		return err
	})
	measure()

	if got := read.Load(); got != kept {
		t.Errorf("%d logs were read, want %d", got, kept)
	}

	t.Logf("%d executors failed: the heap grew by %d KiB", executors, growth()>>10)

	// The caches and the test's own handlers need some kB for each pod.
	if most := int64(executors)*20<<10 + 32<<20; growth() > most {
		t.Errorf("the heap grew by %d MiB", growth()>>20)
	}

	if c := world.Condition(k.Get("pi"), "LogsNotKept"); c.Status != "" {
		t.Errorf("the condition is %+v", c)
	}
}
