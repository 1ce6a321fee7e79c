// Package keep keeps the records of finished runs: in an object store, or in a ConfigMap of the schedule or the
// application. keep.go decides which runs are recorded and repeats failed writes, and configmap.go writes ConfigMaps.
package keep

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// EventNotKept is the reason of the Event about a run whose record could not be written.
const EventNotKept = "RunRecordNotKept"

const (
	// recent is how long after its end a run may still be recorded. A new leader makes a pass over each custom resource,
	// and must not write the records of all of them again.
	recent = time.Hour
	// maxTries is the default of Options.MaxTries. With the back-off they take about ten minutes.
	maxTries = 10
	// writeTimeout bounds one try.
	writeTimeout = 10 * time.Second
	// writers is the number of records that are written to one store at the same time.
	writers = 2
	// maxWaiting is the largest number of records that wait for one store. They take at most run.MaxSize bytes each.
	maxWaiting = 2000
)

// Options are the parts of a Recorder.
type Options struct {
	// Place returns where the records of a namespace are kept: a store, or nil for ConfigMaps. The result keeps is false
	// if they are not kept.
	Place func(ctx context.Context, namespace string) (bucket *store.Bucket, keeps bool)
	// Reader reads ConfigMaps from the API server, and Writer writes them.
	Reader client.Reader
	Writer client.Writer
	Clock  func() time.Time
	// Failed reports that the record of a run was not kept.
	Failed func(object client.Object, message string)
	// Written counts the records that were written, and those that were not.
	Written func(ok bool)
	Log     logr.Logger
	// MaxTries is the largest number of tries to write a record. Default 10.
	MaxTries int
}

// Recorder keeps the records of finished runs. Writes happen in the background, so a pass never waits for them. A nil
// *Recorder keeps none.
type Recorder struct {
	Options
	began time.Time // the start of the process

	mu       sync.Mutex
	queues   map[*store.Bucket]*queue
	serve    func(*queue) // starts the writers of a queue; nil while the Recorder does not run
	waiting  map[string]job
	recorded map[string]time.Time // the runs that were recorded or given up, with their end
}

// queue has the records that wait for one store, or for ConfigMaps. Each queue has its own writers and its own limit,
// so that a store that does not answer delays only its own records.
type queue struct {
	workqueue.TypedRateLimitingInterface[string]
	length int // records that wait, also for another try; guarded by Recorder.mu
}

// job is a record that waits to be written.
type job struct {
	record *run.Record
	object client.Object
	bucket *store.Bucket
	queue  *queue
}

// New returns a Recorder, which writes nothing before Start.
func New(o Options) *Recorder {
	return &Recorder{Options: o, began: o.Clock(), queues: map[*store.Bucket]*queue{}, waiting: map[string]job{}, recorded: map[string]time.Time{}}
}

// queueOf returns the queue of a store, and starts its writers if it is new. The caller holds the lock.
func (r *Recorder) queueOf(bucket *store.Bucket) *queue {
	q := r.queues[bucket]
	if q != nil {
		return q
	}

	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 2*time.Minute)
	q = &queue{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue(backoff)}
	r.queues[bucket] = q

	if r.serve != nil {
		r.serve(q)
	}
	return q
}

// NeedLeaderElection reports that only the leader writes records.
func (r *Recorder) NeedLeaderElection() bool { return true }

// Ended records the run of a custom resource that has ended permanently. It may be called any number of times for the
// same run. The record has the same name each time, so a write after a crash replaces the record before it.
func (r *Recorder) Ended(ctx context.Context, object client.Object) {
	if r == nil {
		return
	}

	now := r.Clock()

	record := run.Of(object, now)
	if record == nil || record.Outcome == "" || record.Ended.IsZero() || now.Sub(record.Ended) > recent {
		return
	}

	r.add(ctx, object, record)
}

// Deleted records the run of a custom resource that was deleted before its permanent end. The argument is the last
// state of the custom resource. There is no second call for it, so the record is lost if the process ends before the
// write.
func (r *Recorder) Deleted(ctx context.Context, object client.Object) {
	if r == nil {
		return
	}

	if record := run.OfDeleted(object, r.Clock()); record != nil {
		r.add(ctx, object, record)
	}
}

// add queues a record, unless the run was recorded before, or its namespace keeps none.
func (r *Recorder) add(ctx context.Context, object client.Object, record *run.Record) {
	id := record.ID()

	r.mu.Lock()
	_, waits := r.waiting[id]
	_, known := r.recorded[id]
	r.mu.Unlock()

	if waits || known {
		return
	}

	bucket, keeps := r.Place(ctx, record.Namespace)
	if !keeps || record.Outcome == run.Deleted && bucket == nil && record.Schedule == "" {
		return // the ConfigMap of a custom resource is deleted with it
	}

	record.Links.Logs = placeOf(bucket, record)
	if r.enqueue(id, job{record: record, object: object, bucket: bucket}) {
		return
	}

	// At the start, the passes over all custom resources request more records than can wait. The process before this one
	// has written them, so those without room are not missing.
	if record.Ended.Before(r.began) {
		return
	}

	r.Written(false)
	r.Failed(object, fmt.Sprintf("the record of the run that ended at %s was not kept, because as many others wait to be written as can wait (%d); check that the store answers",
		record.Ended.Format(time.RFC3339), maxWaiting))
	r.forget(id, record.Ended)
}

// enqueue adds a record to the queue of its store. It returns false if as many records wait there as can wait.
func (r *Recorder) enqueue(id string, next job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	if _, waits := r.waiting[id]; waits {
		return true
	}

	next.queue = r.queueOf(next.bucket)
	if next.queue.length >= maxWaiting {
		return false
	}

	r.waiting[id] = next
	next.queue.length++
	next.queue.Add(id)
	return true
}

// placeOf returns where the logs of the last attempt are; empty for a SparkCluster, whose logs are not kept. The place
// is computed as everywhere, not read from the status.
func placeOf(b *store.Bucket, r *run.Record) string {
	if r.Kind == kinds.SparkCluster.Kind {
		return ""
	}

	attempt := store.Attempt{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Number: r.Attempt}
	if b == nil {
		return store.ConfigMaps{}.Place(attempt)
	}
	return b.Place(attempt)
}

// Start writes records until the context ends. Records that wait then are written by the next leader.
func (r *Recorder) Start(ctx context.Context) error {
	var all sync.WaitGroup

	serve := func(q *queue) {
		for range writers {
			all.Go(func() {
				for r.next(ctx, q) {
				}
			})
		}
	}

	r.mu.Lock()
	r.serve = serve

	for _, q := range r.queues {
		serve(q)
	}
	r.mu.Unlock()

	<-ctx.Done()

	r.mu.Lock()
	r.serve = nil

	for _, q := range r.queues {
		q.ShutDown()
	}
	r.mu.Unlock()
	all.Wait()
	return nil
}

// next writes the next record of a queue. It returns false when the queue has shut down.
func (r *Recorder) next(ctx context.Context, q *queue) bool {
	id, over := q.Get()
	if over {
		return false
	}
	defer q.Done(id)

	r.mu.Lock()
	next := r.waiting[id]
	r.mu.Unlock()

	err := r.write(ctx, next)
	switch {
	case err == nil:
		r.Written(true)
	case ctx.Err() != nil:
		return true
	case q.NumRequeues(id) < cmp.Or(r.MaxTries, maxTries):
		q.AddRateLimited(id)
		return true
	default:
		r.Written(false)
		r.Log.Info("a record of a run was not kept", "namespace", next.record.Namespace, "name", next.record.Name, "cause", err.Error())
		r.Failed(next.object, fmt.Sprintf("the record of the run that ended at %s was not kept: %v", next.record.Ended.Format(time.RFC3339), err))
	}

	q.Forget(id)
	r.forget(id, next.record.Ended)
	return true
}

// forget drops a record that waits no longer, and the memory of runs that are too old to be recorded again.
func (r *Recorder) forget(id string, ended time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if next, waits := r.waiting[id]; waits {
		next.queue.length--

		delete(r.waiting, id)
	}

	r.recorded[id] = ended

	oldest := r.Clock().Add(-recent)
	for id, ended := range r.recorded {
		if ended.Before(oldest) {
			delete(r.recorded, id)
		}
	}
}

func (r *Recorder) write(ctx context.Context, next job) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()

	text, err := next.record.Encode()
	if err != nil {
		return err
	}

	if next.bucket == nil {
		return r.inConfigMap(ctx, next, string(text))
	}
	return next.bucket.Write(ctx, next.record.StoreKey(), text)
}
