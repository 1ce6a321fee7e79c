package logs

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// loadTimeout bounds how long the log of a container that is being stopped waits for the store to say what was uploaded
// of it by an earlier process. Without an answer, the whole log is read from the node.
const loadTimeout = 2 * time.Second

// begun returns what the status says about the logs of an attempt whose driver's log begins to be streamed.
func (k *Keeper) begun(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod, p *place) *lifecycle.Logs {
	at := attemptIn(kind, key, pod)

	next := lifecycle.Logs{Attempt: at.Number}
	if stored, exists := k.Stored(context.Background(), at); !exists {
		return nil
	} else if stored != nil && stored.Attempt >= at.Number {
		next = *stored
	}

	if next.Attempt == at.Number {
		next.Place = p.store.Place(at)
	}
	return &next
}

// begin streams the log of a driver that runs. The next status write stores where it is; it causes none itself. The
// caller holds the lock.
func (k *Keeper) begin(a store.Attempt, pod *corev1.Pod, p *place, begun lifecycle.Logs) {
	if known, ok := k.results[a.UID]; !ok || known.Attempt < begun.Attempt {
		k.results[a.UID] = begun
	}

	k.stream.Begin(k.logOf(a, p, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID, pod.Spec.NodeName, containerOf(pod)))
}

// logOf returns the log of a driver, to stream it or to find what was streamed of it.
func (*Keeper) logOf(a store.Attempt, p *place, pod types.NamespacedName, uid types.UID, node, container string) *stream.Log {
	limit := keptlogs.Bytes(p.entry.MaxBytes)
	return &stream.Log{
		Attempt: a, Pod: pod, UID: uid, Node: node, Container: container, Bucket: p.bucket, Store: p.entry.Store, Redact: p.redact,
		Head: limit / headShare, Limit: limit, Interval: p.entry.StreamInterval.Duration,
	}
}

// endStream ends the stream of a task's log.
func (k *Keeper) endStream(t *task) {
	if t.executor != "" {
		return
	}

	l := k.stream.Take(t.uid)
	if l != nil && l.Bucket == t.place.bucket {
		t.uploaded = l
	} else if l != nil {
		l.Release() // the namespace has another place now
	}
}

// loadUploaded finds out what was uploaded of a task's log, of which an earlier process may have streamed a part.
func (k *Keeper) loadUploaded(ctx context.Context, t *task, follow bool) error {
	if t.loaded || t.executor != "" || t.place.entry.StreamInterval.Duration == 0 {
		return nil
	}

	l := t.uploaded
	if l == nil {
		l = k.logOf(t.attempt.Attempt, t.place, t.pod, t.uid, t.node, t.container)
	}

	t.uploaded = nil

	timeout := t.answerTimeout()
	if follow {
		timeout = loadTimeout
	}

	loading, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	if err := l.Load(loading); err != nil {
		l.Release()

		if follow {
			return nil // the stream must not wait
		}
		return fmt.Errorf("read what was uploaded of the log: %w", err)
	}

	t.loaded = true

	if size, _ := l.Size(); size == 0 {
		l.Release()
		return nil
	}

	t.uploaded = l
	return nil
}

// withUploaded returns a log with the text before it, which was uploaded while the container ran. The log is then
// empty. Without such a text, the result is the log itself.
func (k *Keeper) withUploaded(ctx context.Context, t *task, log *capture.Capture) (*capture.Capture, error) {
	if t.uploaded == nil {
		return log, nil
	}

	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	limit := keptlogs.Bytes(t.place.entry.MaxBytes)
	whole := capture.New(limit/headShare, limit, k.memory, nil) // the text is redacted already

	if err := t.uploaded.Add(ctx, whole); err != nil {
		whole.Release()
		return nil, err
	}

	whole.Join(log)
	return whole, nil
}

// missRest finishes a task of whose log only the uploaded text is there, or the part that an earlier try has stored.
func (k *Keeper) missRest(ctx context.Context, t *task, reason, message string) time.Duration {
	_, until := t.uploaded.Size()
	message = fmt.Sprintf("%s; the operator has uploaded it until %s", message, until.UTC().Format(time.RFC3339))

	log := k.newCapture(t)
	defer log.Release()

	entry := store.File{Name: store.DriverFile, Pod: t.pod.Name, PodUID: t.uid}

	var before *store.File

	data, err := k.file(ctx, t, log, &entry, nil)
	if err == nil {
		entry.Partial = message
		before, err = k.save(ctx, t, entry, data)
	}

	if err == nil {
		k.removeUploaded(t)
	} else { // sparkctl reads the parts
		k.Log.Info("Could not make the uploaded parts of a log to one file", "pod", t.pod, "cause", err.Error())
		t.uploaded.Release()
	}

	if before != nil { // an earlier try has read more than what was uploaded
		k.finish(t, problemIn(before))
		return 0
	}

	k.finish(t, &lifecycle.Cause{Reason: reason, Message: message})
	return 0
}

// removeUploaded deletes the parts of a log that is kept as a whole.
func (k *Keeper) removeUploaded(t *task) {
	if t.uploaded != nil {
		t.uploaded.Release()
		k.remove(context.Background(), t.uploaded)
	}
}

// removeLeftovers deletes the parts of a log that an earlier process has kept as a whole, if it ended before it could
// delete them.
func (k *Keeper) removeLeftovers(ctx context.Context, t *task) {
	if t.executor == "" && t.place.entry.StreamInterval.Duration > 0 {
		k.remove(ctx, k.logOf(t.attempt.Attempt, t.place, t.pod, t.uid, t.node, t.container))
	}
}

func (k *Keeper) remove(ctx context.Context, l *stream.Log) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	if err := l.Remove(ctx); err != nil {
		k.Log.Info("Could not delete the uploaded parts of a log that is kept", "pod", l.Pod, "cause", err.Error())
	}
}

// uploads reports whether the log of an attempt is streamed. The argument is the folder of the attempt.
func (k *Keeper) uploads(folder string) bool {
	return k.stream.Has(strings.TrimSuffix(folder, "/") + "/")
}
