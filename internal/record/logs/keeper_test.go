package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// lines serve the logs of pods by their names. Each function returns the next stream of a log.
type lines map[string]func(ctx context.Context) (io.Reader, error)

func (l lines) Open(ctx context.Context, r stream.Request) (io.ReadCloser, error) {
	in, err := l[r.Pod.Name](ctx)
	return io.NopCloser(in), err
}

func (lines) UID(_ context.Context, pod types.NamespacedName) (types.UID, error) {
	return uidOf(pod.Name), nil
}

func uidOf(pod string) types.UID { return types.UID("uid-of-" + pod) }

func text(s string) func(context.Context) (io.Reader, error) {
	return func(context.Context) (io.Reader, error) { return strings.NewReader(s), nil }
}

// inTurn returns a stream of each function, one after the other.
func inTurn(streams ...func(context.Context) (io.Reader, error)) func(context.Context) (io.Reader, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (io.Reader, error) {
		mu.Lock()
		next := streams[0]
		streams = streams[min(1, len(streams)-1):]
		mu.Unlock()
		return next(ctx)
	}
}

type noMetrics struct{}

func (noMetrics) LogKept(string, int64, float64) {}
func (noMetrics) LogNotKept(string)              {}
func (noMetrics) LogStreams(int)                 {}
func (noMetrics) LogStreamed(float64)            {}
func (noMetrics) LogStreamFailed()               {}

const appUID = "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10"

var (
	kind = schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}
	key  = types.NamespacedName{Namespace: "jobs", Name: "pi"}
	at   = store.Attempt{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name, UID: appUID, Number: 1}
)

// podOf returns a pod of the application's first attempt. Without a number, it is the driver.
func podOf(name, number string, phase corev1.PodPhase) *corev1.Pod {
	labels := map[string]string{identity.AppUIDLabel: appUID, identity.AttemptLabel: "1", identity.RoleLabel: identity.RoleDriver}
	if number != "" {
		labels[identity.RoleLabel], labels["spark-exec-id"] = identity.RoleExecutor, number
	}

	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if phase == corev1.PodFailed {
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, UID: uidOf(name), Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "spark"}}},
		Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "spark", State: state}}},
	}
}

// start starts a keeper whose store is a directory.
func start(t *testing.T, logs lines, change func(*Options)) *Keeper {
	t.Helper()
	return startUntil(t.Context(), t, logs, change)
}

// startUntil starts a keeper that leads until a context ends.
func startUntil(parent context.Context, t *testing.T, logs lines, change func(*Options)) *Keeper {
	t.Helper()

	o := Options{
		Entries: []keptlogs.Entry{{Store: "file://" + t.TempDir(), Wait: &metav1.Duration{Duration: time.Hour}}}, Streams: logs, Metrics: noMetrics{}, Log: logr.Discard(),
		Stored: func(context.Context, store.Attempt) (*lifecycle.Logs, bool) { return nil, true },
		Wake:   func(store.Attempt) {}, Report: func(store.Attempt, string) {},
		List: func(context.Context, func(schema.GroupVersionKind, types.NamespacedName, *corev1.Pod)) {},
	}
	if change != nil {
		change(&o)
	}

	keptlogs.ApplyDefaults(o.Entries)

	k, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	k.leads = true // the events of tests come before Start does this
	ctx, cancel := context.WithCancel(parent)
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = k.Start(ctx)
	}()

	t.Cleanup(func() { cancel(); <-ended })
	return k
}

// wait waits until a condition that the keeper's lock guards is true.
func (k *Keeper) wait(t *testing.T, what string, is func() bool) {
	t.Helper()

	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		k.mu.Lock()
		done := is()
		k.mu.Unlock()

		if done {
			return
		}

		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (k *Keeper) idle() bool { return len(k.tasks) == 0 }

// TestResultOfEarlierProcess checks that the log of an executor that a new process reads does not remove from the
// status what an earlier process wrote about the driver, and that the causes of an earlier process are removed when
// they are not true any more. A place in the status that differs from the computed one is replaced.
func TestResultOfEarlierProcess(t *testing.T) {
	stored := lifecycle.Logs{Attempt: 1, Place: "there", KeptAt: time.Now(), Cause: lifecycle.Cause{Reason: ReasonStore, Message: "the log of executor 2 of attempt 1 (pod exec-2) was not kept: full"}}
	k := start(t, lines{"exec-1": text("one"), "exec-2": text("two")}, func(o *Options) {
		o.Stored = func(context.Context, store.Attempt) (*lifecycle.Logs, bool) { return &stored, true }
	})

	k.Observe(kind, key, podOf("exec-1", "1", corev1.PodFailed))
	k.wait(t, "the first log", k.idle)

	got := k.Result(appUID)
	if got == nil {
		t.Fatal("there is no result, although the status has a place that nobody computed")
	}

	want := stored

	want.Place = got.Place
	if *got != want || !strings.HasSuffix(got.Place, string(appUID)+"/1") {
		t.Errorf("the result is %+v, want %+v with the computed place", got, want)
	}

	k.Observe(kind, key, podOf("exec-2", "2", corev1.PodFailed))
	k.wait(t, "the second log", k.idle)

	if got := k.Result(appUID); got == nil || got.Cause.Reason != "" || got.KeptAt != stored.KeptAt {
		t.Errorf("the result is %+v", got)
	}
}

// TestDeletionContinues checks that a deletion that waits for the log of an executor continues as soon as the log is
// kept, although nothing about it changes in the status.
func TestDeletionContinues(t *testing.T) {
	free, woken := make(chan struct{}), make(chan time.Duration, 10)
	pod := podOf("exec-1", "1", corev1.PodFailed)

	var k *Keeper

	k = start(t, lines{"exec-1": func(context.Context) (io.Reader, error) { <-free; return strings.NewReader("one"), nil }}, func(o *Options) {
		o.Stored = func(context.Context, store.Attempt) (*lifecycle.Logs, bool) { return &lifecycle.Logs{Attempt: 1}, true }
		o.Wake = func(store.Attempt) { woken <- k.Hold(kind, key, pod) }
	})
	if k.Hold(kind, key, pod) == 0 {
		t.Fatal("the deletion does not wait")
	}

	close(free)

	select {
	case left := <-woken:
		if left != 0 {
			t.Errorf("the deletion waits for %s more", left)
		}
	case <-time.After(time.Minute):
		t.Error("the deletion was not continued")
	}
}

// TestDeletionWithoutWait checks that a deletion does not wait for a log if the configured time is 0s, that the keeper
// reports no problem, and that the log is kept nevertheless. 0s became the default of 10s.
func TestDeletionWithoutWait(t *testing.T) {
	begun, free, pod := make(chan struct{}), make(chan struct{}), podOf("exec-1", "1", corev1.PodFailed)
	reads := func(context.Context) (io.Reader, error) {
		close(begun)
		<-free
		return strings.NewReader("one"), nil
	}

	k := start(t, lines{"exec-1": reads}, func(o *Options) {
		o.Entries[0].Wait = &metav1.Duration{}
		o.Report = func(_ store.Attempt, message string) { t.Errorf("reported: %s", message) }
	})
	if left := k.Hold(kind, key, pod); left != 0 {
		t.Errorf("the deletion waits for %s", left)
	}

	<-begun
	k.Gone(kind, key, pod)
	close(free)
	k.wait(t, "the log", k.idle)

	if got := k.Result(appUID); got == nil || got.Place == "" || got.Cause.Reason != "" {
		t.Errorf("the result is %+v", got)
	}
}

// TestStatusWaitsForLog checks that the status write about the end of a driver waits while its log is read, and no
// longer than joinTime. It does not wait for a driver that still runs, nor for a log that could not be read.
func TestStatusWaitsForLog(t *testing.T) {
	free := make(chan struct{})
	k := start(t, lines{"driver": inTurn(
		func(context.Context) (io.Reader, error) { return nil, errors.New("no connection") },
		func(context.Context) (io.Reader, error) { <-free; return strings.NewReader("log"), nil },
	)}, nil)

	k.Observe(kind, key, podOf("driver", "", corev1.PodRunning))

	if left := k.Soon(key, appUID, 1); left != 0 {
		t.Errorf("while the driver runs, the write waits for %s", left)
	}

	k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
	k.wait(t, "the first try", func() bool { return k.attempts[idOf(at)].driver.problem != nil })

	if left := k.Soon(key, appUID, 1); left != 0 {
		t.Errorf("after a failed try, the write waits for %s", left)
	}

	k.mu.Lock()
	driver := k.attempts[idOf(at)].driver
	driver.problem, driver.ended = nil, time.Now().Add(time.Hour)
	k.mu.Unlock()

	if k.Soon(key, appUID, 1) == 0 {
		t.Error("the write does not wait for a log that is being read")
	}

	if k.Soon(key, appUID, 2) != 0 || k.Soon(key, "another", 1) != 0 {
		t.Error("the write of another attempt waits")
	}

	k.mu.Lock()
	driver.ended = time.Now().Add(-joinTime)
	k.mu.Unlock()

	if left := k.Soon(key, appUID, 1); left != 0 {
		t.Errorf("after the longest time, the write waits for %s", left)
	}

	close(free)
	k.wait(t, "the log", k.idle)

	if left := k.Soon(key, appUID, 1); left != 0 || k.Result(appUID).KeptAt.IsZero() {
		t.Errorf("after the log is kept, the write waits for %s, and the result is %+v", left, k.Result(appUID))
	}
}

// TestKeptExecutorNeedsNoWrite checks that the log of an executor that is kept requests no pass. The next status write
// has the place of the logs.
func TestKeptExecutorNeedsNoWrite(t *testing.T) {
	k := start(t, lines{"exec-1": text("one")}, func(o *Options) {
		o.Wake = func(store.Attempt) { t.Error("a pass was requested") }
	})

	k.Observe(kind, key, podOf("exec-1", "1", corev1.PodFailed))
	k.wait(t, "the log", k.idle)

	if got := k.Result(appUID); got == nil || got.Place == "" || got.Cause.Reason != "" {
		t.Errorf("the result is %+v", got)
	}
}

// TestCausesOfSeveralLogs checks that a log that is kept at last does not hide that another log is missing.
func TestCausesOfSeveralLogs(t *testing.T) {
	fails := func(context.Context) (io.Reader, error) { return nil, errors.New("no connection") }
	lost := func(context.Context) (io.Reader, error) {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), "exec-1")
	}
	k := start(t, lines{"exec-1": lost, "exec-2": inTurn(fails, text("two"))}, func(o *Options) { o.Entries[0].Wait.Duration = time.Nanosecond })

	k.Observe(kind, key, podOf("exec-1", "1", corev1.PodFailed))
	k.wait(t, "the first log", k.idle)
	k.Observe(kind, key, podOf("exec-2", "2", corev1.PodFailed))
	k.wait(t, "the second problem", func() bool { return strings.Contains(k.results[appUID].Cause.Message, "no connection") })
	k.wait(t, "the second log", k.idle)

	if got := k.Result(appUID); !strings.Contains(got.Cause.Message, "exec-1") {
		t.Errorf("the result is %+v", got)
	}
}

// TestNothingIsLeft checks that the keeper remembers nothing of an application that does not exist any more, also if
// some logs were kept after it was deleted, and more executors failed than are kept.
func TestNothingIsLeft(t *testing.T) {
	k := start(t, lines{"driver": text("driver"), "exec-1": text("one"), "exec-2": text("two"), "exec-3": text("three")}, func(o *Options) {
		o.Entries[0].MaxExecutors = new(2)
		o.Stored = func(context.Context, store.Attempt) (*lifecycle.Logs, bool) { return nil, false }
	})
	k.Forget(appUID)

	k.Gone(kind, key, podOf("driver", "", corev1.PodFailed))
	k.wait(t, "the driver's log", k.idle)

	for i, name := range []string{"exec-1", "exec-2", "exec-3"} {
		k.Gone(kind, key, podOf(name, string(rune('1'+i)), corev1.PodFailed))
	}

	k.wait(t, "the logs", k.idle)
	k.wait(t, "empty memory", func() bool { return len(k.results)+len(k.attempts)+len(k.finished) == 0 })
}

// slow is a store that does not answer.
type slow struct{ store.Logs }

func (slow) Index(ctx context.Context, _ store.Attempt) (*store.Index, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStreamDoesNotWaitForStore checks that a store that does not answer does not delay the stream of a driver that is
// to be deleted.
func TestStreamDoesNotWaitForStore(t *testing.T) {
	woken := make(chan struct{}, 10)
	running := func(ctx context.Context) (io.Reader, error) {
		in, out := io.Pipe()
		context.AfterFunc(ctx, func() { _ = out.Close() })
		return in, nil
	}
	k := start(t, lines{"driver": running}, func(o *Options) { o.Wake = func(store.Attempt) { woken <- struct{}{} } })
	k.places.all[0].store = slow{k.places.all[0].store}

	pod := podOf("driver", "", corev1.PodRunning)
	if k.Hold(kind, key, pod) == 0 {
		t.Fatal("the deletion does not wait")
	}

	select {
	case <-woken:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing follows the log")
	}

	if left := k.Hold(kind, key, pod); left != 0 {
		t.Errorf("the deletion waits for %s more", left)
	}
}

// TestStreamThatEndsEarly checks that a log is read again if its stream ended early and its pod exists, and that the
// status has the reason if only a part of the log could be read.
func TestStreamThatEndsEarly(t *testing.T) {
	part := func(context.Context) (io.Reader, error) {
		return io.MultiReader(strings.NewReader("first"), iotest.ErrReader(errors.New("connection reset"))), nil
	}

	for name, test := range map[string]struct {
		streams lines
		partial bool
	}{
		"once":   {lines{"driver": inTurn(part, text("first and last"))}, false},
		"always": {lines{"driver": part}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, test.streams, nil)
			k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
			k.wait(t, "the log", k.idle)

			index, err := k.places.all[0].store.Index(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}

			got := k.Result(appUID)
			if partial := index.Driver.Partial != ""; partial != test.partial || got.KeptAt.IsZero() != test.partial || (got.Cause.Reason == ReasonUnreadable) != test.partial {
				t.Errorf("the index has %+v, and the status %+v", index.Driver, got)
			}
		})
	}
}

// TestEvictedByNode checks that the log of a driver is followed as soon as its kubelet begins to evict it, because the
// kubelet removes the container as soon as it has ended. A pod that the scheduler wants to preempt may continue.
func TestEvictedByNode(t *testing.T) {
	for reason, followed := range map[string]bool{corev1.PodReasonTerminationByKubelet: true, corev1.PodReasonPreemptionByScheduler: false} {
		k := start(t, lines{"driver": text("first and last")}, nil)
		pod := podOf("driver", "", corev1.PodRunning)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason}}

		if task := k.observe(kind, key, pod, false, false); (task != nil) != followed || followed && !task.follow {
			t.Errorf("%s: the task is %+v", reason, task)
		}

		k.wait(t, "the log", func() bool { return k.finished[pod.UID] == followed && k.idle() })
	}
}

// TestPartOfEarlierProcess checks that a log of which an earlier process kept only a part is read again while its pod
// exists. The streams of all logs break when an API server restarts, and the leader may change at the same moment.
func TestPartOfEarlierProcess(t *testing.T) {
	k := start(t, lines{"driver": text("first and last")}, nil)

	files := map[string][]byte{store.DriverFile: []byte("first")}
	index := store.Index{Attempt: at, Driver: &store.File{Name: store.DriverFile, Pod: "driver", PodUID: uidOf("driver"), Partial: "connection reset"}}

	if err := k.places.all[0].store.Save(t.Context(), &index, files); err != nil {
		t.Fatal(err)
	}

	k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
	k.wait(t, "the log", k.idle)

	got, err := k.places.all[0].store.Index(t.Context(), at)
	if err != nil || got.Driver.Partial != "" || got.Driver.Kept != int64(len("first and last")) || k.Result(appUID).KeptAt.IsZero() {
		t.Errorf("the index has %+v, %v, and the status %+v", got.Driver, err, k.Result(appUID))
	}
}

// TestExecutorsWithoutNumber checks that executors whose label has no number have files of their own, and never the
// driver's.
func TestExecutorsWithoutNumber(t *testing.T) {
	k := start(t, lines{"driver": text("driver"), "exec-a": text("a"), "exec-b": text("b"), "exec-c": text("c")}, nil)
	k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
	k.Observe(kind, key, podOf("exec-a", "EXECID", corev1.PodFailed))
	k.Observe(kind, key, podOf("exec-b", "EXECID", corev1.PodFailed))

	unlabelled := podOf("exec-c", "1", corev1.PodFailed)
	delete(unlabelled.Labels, "spark-exec-id")
	k.Observe(kind, key, unlabelled)
	k.wait(t, "the logs", k.idle)

	index, err := k.places.all[0].store.Index(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}

	for _, file := range index.Executors {
		names[file.Name] = true

		if !store.IsOwn(at.Dir() + file.Name) {
			t.Errorf("the file %s will never be deleted", file.Name)
		}
	}

	if index.Driver == nil || index.Driver.Pod != "driver" || len(names) != 3 {
		t.Errorf("the index has the driver %+v and the executors %v", index.Driver, names)
	}
}

// TestSlowNodes checks that a log is kept while the nodes of other logs, as many as may begin at the same time, do not
// answer.
func TestSlowNodes(t *testing.T) {
	all := lines{"fast": text("fast")}
	k := start(t, all, func(o *Options) { o.Entries[0].MaxExecutors = new(99) })

	for i := range fastReaders {
		name := fmt.Sprintf("slow-%d", i)
		all[name] = func(ctx context.Context) (io.Reader, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}

		pod := podOf(name, fmt.Sprint(i), corev1.PodFailed)
		pod.Spec.NodeName = name
		k.Observe(kind, key, pod)
	}

	k.wait(t, "the requests to the slow nodes", func() bool { return len(k.turns) == fastReaders })
	k.Observe(kind, key, podOf("fast", "99", corev1.PodFailed))
	k.wait(t, "the other log", func() bool { return k.finished[uidOf("fast")] })
}

// TestForgedOwner checks that a pod of another namespace, labelled with the UID of the application, changes nothing of
// what is kept of the application.
func TestForgedOwner(t *testing.T) {
	k := start(t, lines{"driver": text("driver"), "forged": func(ctx context.Context) (io.Reader, error) {
		<-ctx.Done() // it never ends
		return nil, ctx.Err()
	}}, nil)

	forged := podOf("forged", "", corev1.PodRunning)
	forged.Namespace, forged.DeletionTimestamp = "others", &metav1.Time{Time: time.Now()}
	k.Observe(kind, types.NamespacedName{Namespace: "others", Name: "mine"}, forged)

	k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
	k.wait(t, "the application's log", func() bool { return k.finished[uidOf("driver")] })

	index, err := k.places.all[0].store.Index(t.Context(), at)
	if err != nil || index == nil || index.Driver == nil || index.Driver.Pod != "driver" {
		t.Errorf("the index is %+v, %v", index, err)
	}
}

// TestOddLabels checks that labels of pods cause no keys that the sweep would not delete.
func TestOddLabels(t *testing.T) {
	all := lines{"driver": text("driver"), "odd": text("odd"), "exec-a": text("a"), "exec-b": text("b")}
	k := start(t, all, func(o *Options) { o.Entries[0].Retention = &metav1.Duration{Duration: time.Hour} })

	for _, label := range []string{"Not_a.UID", "0", ".", strings.ToUpper(appUID)} {
		odd := podOf("odd", "", corev1.PodFailed)
		odd.Labels[identity.AppUIDLabel] = label
		k.Observe(kind, key, odd)
	}

	for name, number := range map[string]string{"exec-a": "1_A", "exec-b": "-1"} {
		k.Observe(kind, key, podOf(name, number, corev1.PodFailed))
	}

	driver := podOf("driver", "", corev1.PodFailed)
	driver.Labels[identity.AttemptLabel] = "-7"
	k.Observe(kind, key, driver)
	k.wait(t, "all logs", func() bool { return k.finished[uidOf("driver")] && k.idle() })

	count := func() (n int) {
		for object, err := range k.places.all[0].bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}

			if n++; !store.IsOwn(object.Key) {
				t.Errorf("the store has %s, which the sweep does not delete", object.Key)
			}
		}
		return n
	}

	if n := count(); n != 5 { // three logs of two attempts
		t.Errorf("the store has %d objects, want 5", n)
	}

	k.Sweep(t.Context(), time.Now().Add(2*time.Hour))

	if n := count(); n != 0 {
		t.Errorf("%d objects are left after the sweep", n)
	}
}
