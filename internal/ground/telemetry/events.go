package telemetry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
)

// Component is the source component of the operator's Events, unless a kind has its own.
const Component = "spark-operator"

const (
	eventWorkers = 2
	eventQueue   = 8192 // per worker: 16 MiB at most
	// eventShare is the largest number of events of one namespace in a worker's queue. The rest is for other namespaces.
	eventShare   = eventQueue / 2
	eventTries   = 4
	drainTimeout = 5 * time.Second
	// maxMessage is the length limit of the API server for events.k8s.io. Readers of the core API expect it too.
	maxMessage = 1024
)

// Recorder writes core/v1 Events in the background. It never blocks: if the queue is full, it drops and counts Events.
//
// client-go's recorder is not used. Its spam filter drops the 26th Event of an object. Its single worker sleeps during
// a failing write while the queue overflows, and queued Events are lost when the process ends. Recorder derives the
// name of an Event from its content, so that a repeated Event (by a new leader, for example) increases a count instead
// of creating an object.
type Recorder struct {
	writer  client.Client
	reader  client.Reader
	log     logr.Logger
	metrics *Metrics
	queues  [eventWorkers]chan *corev1.Event

	mu      sync.Mutex
	waiting map[waiter]int
}

// waiter identifies the Events of one namespace in the queue of one worker. Recorder limits how many of these Events
// wait.
type waiter struct {
	worker    int
	namespace string
}

// NewRecorder returns a recorder that writes with writer and reads existing Events with reader (not from a cache).
func NewRecorder(writer client.Client, reader client.Reader, log logr.Logger, metrics *Metrics) *Recorder {
	r := &Recorder{writer: writer, reader: reader, log: log, metrics: metrics, waiting: map[waiter]int{}}
	for i := range r.queues {
		r.queues[i] = make(chan *corev1.Event, eventQueue)
	}
	return r
}

// Event queues an Event about the object ref, observed at now. The kind is corev1.EventTypeNormal or
// corev1.EventTypeWarning, and the reason is a CamelCase word. If the source is empty, it is Component.
func (r *Recorder) Event(source string, ref corev1.ObjectReference, now time.Time, kind, reason, message string) {
	event := newEvent(cmp.Or(source, Component), ref, now, kind, reason, message)
	// The events of one object stay in order because they all go to the same worker.
	h := fnv.New32a()
	_, _ = h.Write([]byte(ref.UID))

	who := waiter{int(h.Sum32() % eventWorkers), ref.Namespace}
	if !r.enter(who) {
		r.drop(event, fmt.Errorf("more than %d events of the namespace wait to be written", eventShare))
		return
	}

	select {
	case r.queues[who.worker] <- event:
	default:
		r.leave(who)
		r.drop(event, fmt.Errorf("more than %d events wait to be written", eventQueue))
	}
}

// enter counts a waiting event of a namespace. It returns false if the namespace has used its share of the queue.
func (r *Recorder) enter(who waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.waiting[who] >= eventShare {
		return false
	}
	r.waiting[who]++
	return true
}

func (r *Recorder) leave(who waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.waiting[who]--; r.waiting[who] == 0 {
		delete(r.waiting, who)
	}
}

func newEvent(source string, ref corev1.ObjectReference, now time.Time, kind, reason, message string) *corev1.Event {
	reason, message = bounds.Line(reason), truncate(bounds.Text(message), maxMessage)
	digest := sha256.Sum256([]byte(string(ref.UID) + "\x00" + kind + "\x00" + reason + "\x00" + message))
	at := metav1.NewTime(now)
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: ref.Namespace, Name: truncate(ref.Name, 253-17) + "." + hex.EncodeToString(digest[:8])},
		InvolvedObject:      ref,
		Type:                kind,
		Reason:              reason,
		Message:             message,
		Source:              corev1.EventSource{Component: source},
		ReportingController: source,
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
	}
}

// truncate shortens s to at most n bytes without cutting a character.
func truncate(s string, n int) string {
	return strings.ToValidUTF8(s[:min(len(s), n)], "")
}

// Start writes Events until ctx ends, and then drains the queues for at most drainTimeout. Events that are queued after
// ctx has ended may be lost, so ctx must outlive all callers of Event.
func (r *Recorder) Start(ctx context.Context) error {
	// A write in flight is cancelled at the end of the drain, and not already at the end of ctx.
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, stop) })

	var workers sync.WaitGroup
	for worker := range r.queues {
		workers.Go(func() { r.work(ctx, writing, worker) })
	}

	workers.Wait()
	return nil
}

// work writes the events of one queue until ctx has ended and the queue is empty.
func (r *Recorder) work(ctx, writing context.Context, worker int) {
	for {
		var event *corev1.Event
		select {
		case event = <-r.queues[worker]:
		default:
			select {
			case event = <-r.queues[worker]:
			case <-ctx.Done():
				return
			}
		}

		r.leave(waiter{worker, event.Namespace})
		r.write(writing, event)
	}
}

func (r *Recorder) write(ctx context.Context, event *corev1.Event) {
	wait := 100 * time.Millisecond
	for try := 1; ; try++ {
		err := r.store(ctx, event)
		if err == nil {
			return
		}

		if try == eventTries || !worthRetrying(err) || ctx.Err() != nil {
			r.drop(event, err)
			return
		}

		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}

		wait *= 4
	}
}

// worthRetrying reports whether a later try may succeed. It returns false for a rejection, for example because the
// namespace is terminating or a right is missing, and after this replica's term as the leader.
func worthRetrying(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !errors.Is(err, fence.ErrOver)
}

func (r *Recorder) store(ctx context.Context, event *corev1.Event) error {
	if err := r.writer.Create(ctx, event.DeepCopy()); !apierrors.IsAlreadyExists(err) {
		return err
	}

	var stored corev1.Event
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(event), &stored); err != nil {
		if apierrors.IsNotFound(err) {
			return r.writer.Create(ctx, event.DeepCopy()) // the Event expired between the two calls
		}
		return err
	}

	patch := fmt.Appendf(nil, `{"count":%d,"lastTimestamp":%q}`, stored.Count+1, event.LastTimestamp.UTC().Format(time.RFC3339))
	return r.writer.Patch(ctx, &stored, client.RawPatch(types.MergePatchType, patch))
}

func (r *Recorder) drop(event *corev1.Event, err error) {
	r.metrics.EventDropped()

	ref := event.InvolvedObject
	r.log.Info("Dropped an event", "object", types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, "kind", ref.Kind, "reason", event.Reason, "cause", err.Error())
}
