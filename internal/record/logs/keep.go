package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// The reasons why a log was not kept, as in conditions and metrics.
const (
	ReasonGone       = "PodGone"       // the pod was deleted before its log was read
	ReasonUnreadable = "LogUnreadable" // the kubelet does not return the log
	ReasonForbidden  = "LogForbidden"  // the operator lacks the right to read logs
	ReasonStore      = "StoreFailed"   // the store does not take the log
	ReasonTimeout    = "LogTimeout"    // the pod had to be deleted before its log was kept
)

// Reasons lists the reasons why a log was not kept.
var Reasons = []string{ReasonGone, ReasonUnreadable, ReasonForbidden, ReasonStore, ReasonTimeout}

const (
	readTimeout   = 2 * time.Minute  // of a log whose container has ended
	followTimeout = 15 * time.Minute // of a log whose container is being stopped
	storeTimeout  = 30 * time.Second // of one access to a store
	minStoreWait  = 5 * time.Second  // of the first access to it
	nodeDelay     = 50 * time.Millisecond
	maxBusyDelay  = 5 * time.Second
	firstDelay    = 500 * time.Millisecond
	maxDelay      = 5 * time.Minute
)

// keep makes one try to keep the log of a task. It returns the time until the next try; 0 if no further try is needed.
func (k *Keeper) keep(ctx context.Context, t *task) (again time.Duration) {
	k.mu.Lock()
	follow, gone, before := t.follow, t.gone, t.problem
	k.mu.Unlock()

	if t.omits {
		return k.countOmitted(ctx, t)
	}

	k.endStream(t)

	if done, err := k.known(ctx, t, gone, follow); done || err != nil {
		return k.failed(t, err)
	}

	if err := k.loadUploaded(ctx, t, follow && !gone); err != nil {
		return k.failed(t, problemOf(ReasonStore, err))
	}

	if gone && before != nil {
		return k.miss(ctx, t, before.reason, before.Error())
	}

	if gone {
		return k.miss(ctx, t, ReasonGone, goneMessage)
	}

	reading := []stream.Slot{{Name: "followers", Of: followers}, {Name: "followers in " + t.attempt.Namespace, Of: followers / 2}}
	if !follow {
		reading = []stream.Slot{{Name: "readers", Of: readers}, {Name: "node " + t.node, Of: nodeReaders}}
	}

	if !k.slots.Take(reading...) {
		return k.delay()
	}

	log, broken, again := k.read(ctx, t, follow)
	k.slots.Give(reading...) // before the store is waited for

	if log == nil {
		return again
	}
	defer log.Release()
	return k.store(ctx, t, log, broken)
}

const goneMessage = "the pod was deleted before its log could be read"

// known reports whether nothing is left to do for a task, because an earlier process has kept the log, or because the
// custom resource that would own the ConfigMap does not exist any more. It then finishes the task. The index of a
// container that still runs is not read, because a store that is slow must not delay the stream.
func (k *Keeper) known(ctx context.Context, t *task, gone, follow bool) (bool, error) {
	a := t.attempt
	stored, exists := k.Stored(ctx, a.Attempt)

	if !exists && t.place.bucket == nil || t.executor == "" && stored != nil && stored.Attempt == a.Number && !stored.KeptAt.IsZero() {
		k.leave(t)
		return true, nil
	}

	if follow && !gone {
		return false, nil
	}

	return k.indexed(ctx, t)
}

// indexed reports whether the index says that nothing is left to do for a task. It then finishes the task.
func (k *Keeper) indexed(ctx context.Context, t *task) (bool, error) {
	a := t.attempt
	a.saving.Lock()
	defer a.saving.Unlock()

	ctx, cancel := context.WithTimeout(ctx, t.answerTimeout())
	defer cancel()

	if err := k.readIndex(ctx, t); err != nil {
		return false, problemOf(ReasonStore, err)
	}

	entry := a.index.Of(t.uid)
	if entry == nil {
		full := t.executor != "" && a.index != nil && len(a.index.Executors) >= *t.place.entry.MaxExecutors
		if full { // an earlier process has kept as many
			k.mu.Lock()
			k.omit(t)
			k.mu.Unlock()
			k.leave(t)
		}
		return full, nil
	}

	if entry.Partial != "" {
		return false, nil // also if an earlier process kept only a part; it stays if there is no more
	}

	k.removeLeftovers(ctx, t)
	k.finish(t, problemIn(entry))
	return true, nil
}

// problemIn returns why a log whose entry is in the index is not kept as a whole; nil if it is.
func problemIn(entry *store.File) *lifecycle.Cause {
	if message := entry.Missing + entry.Partial; message != "" {
		return &lifecycle.Cause{Reason: ReasonUnreadable, Message: message}
	}
	return nil
}

// answerTimeout returns how long the store may take for the first answer, which is small. If the store does not answer,
// the status has the reason when the time is over that a deletion waits, and not only after the time of an upload.
func (t *task) answerTimeout() time.Duration {
	return min(storeTimeout, max(minStoreWait, t.place.entry.Wait.Duration))
}

// patience returns how long a log is read and problems are not reported: as long as a deletion waits. If deletions do
// not wait, it is minStoreWait, so that the end of a log is read and a short problem needs no report.
func (t *task) patience() time.Duration { return cmp.Or(t.place.entry.Wait.Duration, minStoreWait) }

// readIndex reads the index of a task's attempt, once. The caller holds the attempt's lock.
func (*Keeper) readIndex(ctx context.Context, t *task) error {
	a := t.attempt
	if a.read {
		return nil
	}

	index, err := t.place.store.Index(ctx, a.Attempt)
	if err == nil {
		a.index, a.read = index, true
	}
	return err
}

// problem is an error with its reason.
type problem struct {
	reason string
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func problemOf(reason string, err error) error { return &problem{reason, err} }

// failed returns the time until the next try after a transient error. If the tries have lasted for the task's patience,
// it reports the error. The tries go on until the pod is gone.
func (k *Keeper) failed(t *task, err error) time.Duration {
	if err == nil {
		return 0
	}

	found, ok := errors.AsType[*problem](err)
	if !ok {
		found = &problem{ReasonUnreadable, err}
	}

	k.mu.Lock()
	t.tries, t.problem = t.tries+1, found
	gone, late := t.gone, time.Since(t.since) >= t.patience()
	delay := min(firstDelay<<min(t.tries, 12), maxDelay)
	k.mu.Unlock()

	if !late && !gone {
		return min(delay, max(firstDelay, t.patience()-time.Since(t.since)))
	}

	cause := &lifecycle.Cause{Reason: found.reason, Message: found.Error()}
	if gone {
		k.finish(t, cause)
		return 0
	}

	k.report(t, cause)
	return delay
}

// miss finishes a task whose log cannot be had any more. The index says why, if the store takes it. If an earlier try
// has stored a part of the log, the part stays.
func (k *Keeper) miss(ctx context.Context, t *task, reason, message string) time.Duration {
	if t.uploaded != nil {
		return k.missRest(ctx, t, reason, message)
	}

	saved, err := k.save(ctx, t, store.File{Pod: t.pod.Name, PodUID: t.uid, Executor: t.executor, Missing: message}, nil)
	if err != nil {
		k.Log.V(1).Info("Could not record a missing log", "pod", t.pod, "cause", err.Error())
	}

	if saved != nil {
		k.finish(t, problemIn(saved))
		return 0
	}

	k.finish(t, &lifecycle.Cause{Reason: reason, Message: message})
	return 0
}

// read reads the log of a task. It returns the log, and the error with which the stream ended. If there is no log, it
// returns the time until the next try.
//
//nolint:revive,staticcheck // the error is a part of the result
func (k *Keeper) read(ctx context.Context, t *task, follow bool) (log *capture.Capture, broken error, again time.Duration) {
	timeout := readTimeout
	if follow {
		timeout = followTimeout
	}

	reading, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	k.mu.Lock()
	t.cancel = cancel
	ended := follow && !t.follow
	k.mu.Unlock()

	if ended {
		return nil, nil, nodeDelay // the container has ended meanwhile
	}

	if !follow {
		done, ok := k.turn(reading)
		if !ok {
			return nil, nil, k.delay()
		}
		defer done()
	}

	request := stream.Request{Pod: t.pod, Container: t.container, Follow: follow}
	if t.uploaded != nil {
		request.Times, request.Since = true, t.uploaded.Since()
	}

	in, err := k.Streams.Open(reading, request)
	if err != nil {
		return nil, nil, k.unopened(ctx, reading, t, err)
	}
	defer func() { _ = in.Close() }()

	if again, ok := k.verified(ctx, reading, t); !ok {
		return nil, nil, again
	}

	k.mu.Lock()
	t.opened = true
	held := !t.held.IsZero()
	k.mu.Unlock()

	if held && follow {
		k.Wake(t.attempt.Attempt) // the deletion need not wait any longer
	}

	log, broken = k.capture(reading, t, in)
	if refused, ok := errors.AsType[*nodelog.Error](broken); ok && log.Total() == 0 {
		log.Release()
		return nil, nil, k.refused(ctx, t, refused)
	}

	if broken != nil && k.isGone(t) {
		broken = errors.New("the pod is gone, and its node did not send the rest")
	}
	return log, broken, 0
}

// verified reports whether a stream that is open is that of the task's pod, and otherwise returns the time until the
// next try. A pod of the next attempt may have the name by now. The stream is that of our pod if our pod has the name,
// or if nobody has it, after the stream was opened.
func (k *Keeper) verified(ctx, reading context.Context, t *task) (again time.Duration, ok bool) {
	switch uid, err := k.Streams.UID(reading, t.pod); {
	case err != nil:
		return k.failed(t, problemOf(ReasonUnreadable, err)), false
	case uid != "" && uid != t.uid:
		return k.miss(ctx, t, ReasonGone, goneMessage+", and another pod has its name"), false
	}
	return 0, true
}

// turn waits until a log can be read at full speed. It returns a function that ends the turn, which ends by itself if
// the node is slow.
func (k *Keeper) turn(ctx context.Context) (done func(), ok bool) {
	select {
	case k.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}

	done = sync.OnceFunc(func() { <-k.turns })
	time.AfterFunc(turnLength, done)
	return done, true
}

// capture reads the text of a log that was not uploaded. It returns also what it has read before an error.
func (k *Keeper) capture(ctx context.Context, t *task, in io.Reader) (log *capture.Capture, err error) {
	log = k.newCapture(t)
	if t.uploaded != nil {
		err = t.uploaded.Rest(in, log)
	} else {
		_, err = io.Copy(log, in)
	}

	if err == nil {
		err = ctx.Err() // a stream that is cut can look as if it had ended
	}
	return log, err
}

// refused returns the time until the next try after the node did not return a log, although it knows the container. The
// node gives one answer for a container that it has removed and for a runtime that does not answer.
func (k *Keeper) refused(ctx context.Context, t *task, refused error) time.Duration {
	if k.breaks(t) {
		return k.failed(t, problemOf(ReasonUnreadable, refused))
	}
	return k.miss(ctx, t, ReasonUnreadable, "the kubelet does not have the log any more: "+refused.Error())
}

// unopened returns the time until the next try after a log could not be opened.
func (k *Keeper) unopened(ctx, reading context.Context, t *task, err error) time.Duration {
	switch {
	case apierrors.IsNotFound(err):
		uid, failed := k.Streams.UID(reading, t.pod)
		if failed != nil {
			return k.failed(t, problemOf(ReasonUnreadable, failed))
		}

		if uid == t.uid {
			return k.miss(ctx, t, ReasonUnreadable, "the kubelet does not have the log any more: "+err.Error())
		}
		return k.miss(ctx, t, ReasonGone, goneMessage)
	case apierrors.IsBadRequest(err):
		return k.miss(ctx, t, ReasonUnreadable, err.Error())
	case apierrors.IsForbidden(err):
		return k.failed(t, problemOf(ReasonForbidden, fmt.Errorf("the operator needs the right to get pods/log: %w", err)))
	}

	if k.isGone(t) {
		return k.miss(ctx, t, ReasonGone, goneMessage)
	}
	return k.failed(t, problemOf(ReasonUnreadable, err))
}

func (k *Keeper) isGone(t *task) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return t.gone
}

func (k *Keeper) newCapture(t *task) *capture.Capture {
	limit := keptlogs.Bytes(t.place.entry.MaxBytes)
	head := limit / headShare

	if t.executor != "" {
		head, limit = 0, keptlogs.Bytes(t.place.entry.ExecutorMaxBytes)
	}

	c := capture.New(head, limit, k.memory, t.place.redact)
	if room := t.room(); room > 0 {
		c.Fit(room)
	}
	return c
}

// headShare is the part of a driver's log whose beginning is kept.
const headShare = 16

// room returns how many bytes the file of a log can have in a ConfigMap; 0 if it goes to an object store.
func (t *task) room() int {
	switch {
	case t.place.bucket != nil:
		return 0
	case t.executor != "":
		return driverShare / *t.place.entry.MaxExecutors
	}
	return driverShare - 16<<10 // for the index
}

// store writes a captured log, and tries again as long as a deletion may wait. The argument broken is the error with
// which the stream ended.
func (k *Keeper) store(ctx context.Context, t *task, log *capture.Capture, broken error) time.Duration {
	entry := store.File{Name: store.DriverFile, Pod: t.pod.Name, PodUID: t.uid, Executor: t.executor}
	if t.executor != "" {
		entry.Name = store.ExecutorFile(t.executor)
	}

	var data []byte

	end := time.Now().Add(t.place.entry.Wait.Duration)
	for delay := firstDelay; ; delay *= 2 {
		var err error
		if data == nil {
			data, err = k.file(ctx, t, log, &entry, broken)
		}

		var before *store.File
		if err == nil {
			before, err = k.save(ctx, t, entry, data)
		}

		if err == nil && broken != nil {
			return k.broken(t, cmp.Or(before, &entry).Partial)
		}

		if err == nil {
			k.removeUploaded(t)
			k.Metrics.LogKept(t.role(), int64(len(data)), time.Since(t.since).Seconds())
			k.finish(t, nil)
			return 0
		}

		if errors.Is(err, errNoMemory) || ctx.Err() != nil || time.Now().Add(delay).After(end) {
			k.mu.Lock()
			t.opened = false
			k.mu.Unlock()
			return k.failed(t, problemOf(ReasonStore, err))
		}

		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// file returns the file of a log, with the text that was uploaded while the container ran. It completes the entry of
// the index.
func (k *Keeper) file(ctx context.Context, t *task, log *capture.Capture, entry *store.File, broken error) ([]byte, error) {
	whole, err := k.withUploaded(ctx, t, log)
	if err != nil {
		return nil, err
	}

	if whole != log {
		defer whole.Release()
	}

	data, kept := whole.File(t.room())
	if whole.Lost() {
		return nil, errNoMemory
	}

	entry.Bytes, entry.Kept = whole.Total(), kept

	if broken != nil {
		entry.Partial = fmt.Sprintf("only the first %d bytes could be read: %v", entry.Bytes, broken)
	}
	return data, nil
}

// errNoMemory is the error of a log whose end had no memory. It is read again.
var errNoMemory = errors.New("the operator's memory for logs is full, because many logs wait for their stores; find out why a store is slow")

// broken returns the time until the next try after a stream ended early and its part is stored. While the pod exists,
// the whole log may still be had.
func (k *Keeper) broken(t *task, message string) time.Duration {
	if k.breaks(t) {
		return k.failed(t, problemOf(ReasonUnreadable, errors.New(message)))
	}

	k.removeUploaded(t)
	k.finish(t, &lifecycle.Cause{Reason: ReasonUnreadable, Message: message})
	return 0
}

// breaks counts a stream that ended early, and reports whether the log is to be read again.
func (k *Keeper) breaks(t *task) bool {
	k.mu.Lock()
	defer k.mu.Unlock()

	t.opened = false
	t.breaks++
	return !t.gone && t.breaks < maxBreaks
}

// maxBreaks is how often the stream of a log may end early until the part that was read has to do.
const maxBreaks = 4

// save adds a log to the index of its attempt, and writes both. Without a pod in the entry, it writes only the index.
// If the index has more of the log already, because an earlier try has read more, save writes nothing and returns the
// entry of the index.
func (k *Keeper) save(ctx context.Context, t *task, entry store.File, data []byte) (before *store.File, _ error) {
	a := t.attempt
	a.saving.Lock()
	defer a.saving.Unlock()

	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	if err := k.readIndex(ctx, t); err != nil {
		return nil, err
	}

	if before := a.index.Of(t.uid); before != nil && less(&entry, before) {
		return before, nil
	}

	if k.Lead != nil {
		term, done, leads := k.Lead.Begin(ctx)
		defer done()

		if !leads {
			return nil, fence.ErrOver // the next leader's index may be newer
		}

		ctx = term
	}

	next := store.Index{Attempt: a.Attempt}
	if a.index != nil {
		next = *a.index
		next.Executors = append([]store.File(nil), a.index.Executors...)
	}

	if entry.Pod != "" {
		next.Set(entry)
	}

	next.KeptAt = metav1.Now()

	k.mu.Lock()
	next.Omitted = max(next.Omitted, a.omitted)
	k.mu.Unlock()

	files := map[string][]byte{}
	if entry.Name != "" {
		files[entry.Name] = data
	}

	if err := t.place.store.Save(ctx, &next, files); err != nil {
		a.read = false // the next try begins with a read, which is cheap if the store does not answer
		return nil, err
	}

	a.index = &next
	return nil, nil
}

// less reports whether an entry has less of a log than an earlier one that has a file. A whole log never has less, also
// if its node has removed the beginning meanwhile.
func less(entry, before *store.File) bool {
	return before.Name != "" && (entry.Name == "" || entry.Partial != "" && entry.Bytes < before.Bytes)
}
