// Package logs keeps the logs of drivers and executors. The Keeper receives the events of their pods, reads the logs of
// pods that end or are being deleted, and writes them to the place that the configuration names for the namespace.
package logs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/retention"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/record/stream"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// The bounds of a Keeper.
const (
	readers     = 8 // logs of ended containers that are read at the same time
	nodeReaders = 3 // of one node
	// fastReaders is how many of them begin at the same time. The text that arrives takes memory until it is compressed,
	// and the operator has one core. A node that is slow delays the next log only by the length of a turn.
	fastReaders = 2
	turnLength  = 300 * time.Millisecond
	// storeUsers is how many logs of ended containers are read or stored at the same time for one store, so that a
	// store that does not answer delays only its own logs. A log that waits for its store does not count as read any
	// more.
	storeUsers = 6
	// retryUsers is how many of them may be logs that could not be kept before, so that nodes that are lost leave the
	// others to new logs.
	retryUsers = storeUsers / 2
	followers  = 64       // logs of containers that still run and whose pods are being deleted, for each store
	maxMemory  = 64 << 20 // of all logs that are read, in compressed bytes
	// driverShare is the part of a ConfigMap that the logs of executors leave for the driver's log.
	driverShare = store.MaxConfigMap / 2
)

// Metrics counts the logs that were kept, and those that were not.
type Metrics interface {
	stream.Metrics
	LogKept(role string, bytes int64, seconds float64)
	LogNotKept(reason string)
}

// Options are the parts of a Keeper.
type Options struct {
	Entries    []keptlogs.Entry
	Labels     func(namespace string) map[string]string // of a namespace; nil if no entry needs them
	ConfigMaps store.ConfigMaps
	Streams    stream.Source
	Metrics    Metrics
	Log        logr.Logger
	// Lead provides the terms in which this replica leads; nil without leader election. Nothing is written to a store
	// outside of a term.
	Lead *fence.Leadership
	// Stored returns what the status of a custom resource says about its logs, and whether the custom resource exists.
	Stored func(ctx context.Context, a store.Attempt) (*lifecycle.Logs, bool)
	// Wake requests a pass over a custom resource, because Result or Hold have another answer for it.
	Wake func(a store.Attempt)
	// Report emits an Event about a log that could not be kept.
	Report func(a store.Attempt, message string)
	// List calls a function for each pod that the caches have, when this replica becomes the leader.
	List func(ctx context.Context, each func(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod))
}

// Keeper keeps the logs of pods, while this replica leads. Each pod whose log is wanted is a task.
type Keeper struct {
	Options
	places *places
	memory *capture.Memory
	stream *stream.Streamer // of the logs of running drivers
	slots  stream.Slots
	turns  chan struct{} // logs of ended containers that are read at full speed
	sweeps *retention.Sweeper

	ended, running workqueue.TypedDelayingInterface[types.UID] // tasks whose container has ended, or still runs

	mu       sync.Mutex
	leads    bool
	tasks    map[types.UID]*task
	finished map[types.UID]bool           // existing pods whose task is finished
	attempts map[id]*attempt              // those with open tasks, or whose driver's log is not kept yet
	results  map[types.UID]lifecycle.Logs // of the last attempt of each custom resource that had a log to keep
}

// id identifies an attempt. The labels of a pod give the UID, and a tenant can write that of somebody else's custom
// resource. Therefore the namespace and the name of the pod's owner belong to the id.
type id struct {
	owner  types.NamespacedName
	uid    types.UID
	number int32
}

func idOf(a store.Attempt) id {
	return id{types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, a.UID, a.Number}
}

// attempt is what the Keeper knows about an attempt.
type attempt struct {
	store.Attempt
	open      int                        // tasks that are not finished
	driver    *task                      // that of the driver; nil if it is finished or there is none
	executors int                        // tasks of executors so far
	omitted   int                        // executors whose logs are not kept because there are too many
	forgotten bool                       // the custom resource does not exist any more
	ended     bool                       // the driver's task is finished, or the custom resource does not exist any more
	causes    map[string]lifecycle.Cause // why logs are not kept, by their description
	reported  bool

	saving sync.Mutex // guards index, which is nil until it was read
	index  *store.Index
	read   bool
}

// task is the log of a pod that is to be kept.
type task struct {
	attempt   *attempt
	place     *place
	pod       types.NamespacedName
	uid       types.UID
	node      string
	container string
	executor  string // the executor's number, or its name; empty for a driver

	follow bool      // the container still runs
	gone   bool      // the pod does not exist any more
	since  time.Time // when the log was wanted first
	ended  time.Time // when the end of the container was observed; zero before
	held   time.Time // when a deletion began to wait for it; zero if none does
	opened bool      // a stream is open that will have the whole log
	late   bool      // a deletion did not wait any longer
	tries  int
	breaks int // streams that ended early
	// counted is set when the metrics count the log as not kept in time.
	counted bool
	// omits is set if the task is not a log, but the number of omitted executors, which is to be written to the index.
	omits bool
	// problem is why the last try failed; nil before the first try.
	problem *problem
	// uploaded is what was streamed of the log; nil if nothing was, or if that is not known yet.
	uploaded *stream.Log
	loaded   bool // it is known
	// cancel ends the last stream; nil before the first one.
	cancel context.CancelFunc
}

// New returns a Keeper, or an error of the configuration.
func New(ctx context.Context, o Options) (*Keeper, error) {
	p, err := openPlaces(ctx, o.Entries, o.Labels, o.ConfigMaps)
	if err != nil {
		return nil, err
	}

	queue := workqueue.NewTypedDelayingQueue[types.UID]
	k := &Keeper{
		Options: o, places: p, memory: capture.NewMemory(maxMemory), stream: stream.New(o.Streams, o.Metrics, o.Log), turns: make(chan struct{}, fastReaders),
		ended: queue(), running: queue(), tasks: map[types.UID]*task{}, finished: map[types.UID]bool{}, attempts: map[id]*attempt{}, results: map[types.UID]lifecycle.Logs{},
	}
	k.sweeps = retention.New(p.expiring(), k.uploads, o.Log)
	return k, nil
}

// Sweep deletes the logs and run records whose retention is over at a given time.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) { k.sweeps.Sweep(ctx, now) }

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader keeps logs.
func (*Keeper) NeedLeaderElection() bool { return true }

// Start keeps logs until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	k.mu.Lock()
	k.leads = true
	k.mu.Unlock()

	k.List(ctx, k.Observe) // the events of the time before are gone

	var workers sync.WaitGroup
	workers.Go(func() { k.work(ctx, k.ended) })
	workers.Go(func() { k.work(ctx, k.running) })
	workers.Go(func() { k.stream.Run(ctx) })
	workers.Go(func() { k.sweeps.Run(ctx) })
	<-ctx.Done()
	k.ended.ShutDown()
	k.running.ShutDown()
	workers.Wait()
	k.mu.Lock()
	k.leads = false
	k.mu.Unlock()
	return nil
}

// work keeps the logs of a queue's tasks, as many at the same time as there are slots.
func (k *Keeper) work(ctx context.Context, queue workqueue.TypedDelayingInterface[types.UID]) {
	var tasks sync.WaitGroup
	defer tasks.Wait()

	for {
		uid, stop := queue.Get()
		if stop || ctx.Err() != nil {
			return
		}

		t, slots := k.next(uid)
		if t == nil {
			queue.Done(uid)
			continue
		}

		if !k.slots.Take(slots...) {
			queue.AddAfter(uid, k.delay())
			queue.Done(uid)

			continue
		}

		tasks.Go(func() {
			again := k.keep(ctx, t)
			k.slots.Give(slots...)

			if again > 0 {
				queue.AddAfter(uid, again)
			}

			queue.Done(uid)
		})
	}
}

// next returns a task and the slots that it needs all the time.
func (k *Keeper) next(uid types.UID) (*task, []stream.Slot) {
	k.mu.Lock()
	defer k.mu.Unlock()

	t := k.tasks[uid]
	if t == nil {
		return nil, nil
	}

	of := t.place.entry.Store
	switch {
	case t.follow:
		return t, []stream.Slot{{Name: "followers of " + of, Of: followers}}
	case t.problem != nil:
		return t, []stream.Slot{{Name: "store " + of, Of: storeUsers}, {Name: "retries of " + of, Of: retryUsers}}
	}
	return t, []stream.Slot{{Name: "store " + of, Of: storeUsers}}
}

// delay returns the time until a task looks for a free slot again. The more tasks wait, the less often each looks.
func (k *Keeper) delay() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(maxBusyDelay, nodeDelay*time.Duration(1+len(k.tasks)/(4*readers)))
}

// Observe receives the state of a pod that belongs to a custom resource of the given kind.
func (k *Keeper) Observe(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod) {
	k.observe(kind, key, pod, pod.DeletionTimestamp != nil, false)
}

// Gone receives the last state of a pod that does not exist any more.
func (k *Keeper) Gone(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod) {
	k.observe(kind, key, pod, true, true)
}

// ours reports whether a pod is a driver or an executor of a custom resource.
func ours(pod *corev1.Pod) bool {
	return pod.Labels[identity.AppUIDLabel] != "" && (pod.Labels[identity.RoleLabel] == identity.RoleExecutor || identity.IsDriver(pod))
}

// toUpload reports whether the uploads of a driver's log are wanted and have not begun.
func (k *Keeper) toUpload(pod *corev1.Pod, p *place) bool {
	return p.entry.StreamInterval.Duration > 0 && identity.IsDriver(pod) && !k.stream.Streams(pod.UID)
}

// observe makes a task of a pod whose log is wanted, and returns it. The sweep deletes only keys of the layout.
// Therefore observe ignores a pod if a tenant has given it a label that is no UID.
func (k *Keeper) observe(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod, deleting, gone bool) *task {
	if !ours(pod) || !store.IsOwn(attemptIn(kind, key, pod).Dir()+store.IndexFile) {
		return nil
	}

	p := k.places.of(pod.Namespace)
	if p == nil {
		if l := k.stream.Take(pod.UID); l != nil {
			l.Release() // the namespace had other labels before
		}
		return nil
	}

	wanted, follow := wants(p.entry, pod, deleting)

	var begun *lifecycle.Logs
	if !wanted && follow && k.toUpload(pod, p) {
		begun = k.begun(kind, key, pod, p)
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	if t := k.tasks[pod.UID]; t != nil {
		t.update(follow, gone)
		return t
	}

	known := k.finished[pod.UID]
	if gone {
		delete(k.finished, pod.UID)
	}

	if !k.leads || known {
		return nil
	}

	if begun != nil {
		k.begin(attemptIn(kind, key, pod), pod, p, *begun)
	}

	if !wanted {
		return nil
	}

	t := &task{
		attempt: k.attemptOf(kind, key, pod), place: p, pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID, node: pod.Spec.NodeName,
		container: containerOf(pod), follow: follow, gone: gone, since: time.Now(),
	}
	if !k.add(t, pod) {
		return nil
	}
	return t
}

// add queues a new task, unless it is that of an executor and there are too many. The caller holds the lock.
func (k *Keeper) add(t *task, pod *corev1.Pod) bool {
	if identity.IsDriver(pod) {
		t.attempt.driver = t
	} else {
		t.executor = executorOf(pod)
		if t.attempt.executors++; t.attempt.executors > *t.place.entry.MaxExecutors {
			if !t.gone {
				k.finished[pod.UID] = true
			}

			k.omit(t)
			return false
		}
	}

	t.attempt.open++
	k.tasks[pod.UID] = t

	if t.follow && !t.gone {
		k.running.Add(t.uid)
	} else {
		t.ended = t.since
		k.ended.Add(t.uid)
	}
	return true
}

// update changes a task after an event of its pod.
func (t *task) update(follow, gone bool) {
	if gone && !t.gone && t.cancel != nil {
		time.AfterFunc(t.patience(), t.cancel) // a lost node sends nothing, and does not end the stream
	}

	t.gone = t.gone || gone
	if t.ended.IsZero() && (gone || !follow) {
		t.ended = time.Now()
	}

	if !t.follow || follow {
		return
	}

	t.follow = false // the container has ended; a stream that is open ends by itself
	if !t.opened && t.cancel != nil {
		t.cancel()
	}
}

// attemptOf returns the attempt of a pod.
func (k *Keeper) attemptOf(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod) *attempt {
	of := attemptIn(kind, key, pod)
	at := idOf(of)

	a := k.attempts[at]
	if a == nil {
		// The earlier attempts are remembered only for the number of omitted executors.
		maps.DeleteFunc(k.attempts, func(other id, a *attempt) bool {
			return other.owner == at.owner && other.uid == at.uid && other.number < at.number && a.open == 0 && a.ended
		})

		a = &attempt{Attempt: of}
		k.attempts[at] = a
	}
	return a
}

func attemptIn(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod) store.Attempt {
	return store.Attempt{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name,
		UID: types.UID(pod.Labels[identity.AppUIDLabel]), Number: identity.Attempt(pod),
	}
}

// containerOf returns the name of the container in which Spark runs. It is the last one if no container has Spark's
// name for it.
func containerOf(pod *corev1.Pod) string {
	name := trim.SparkContainer(pod)
	if !identity.IsDriver(pod) {
		name = overlay.ExecutorContainer
	}

	if n := len(pod.Spec.Containers); n > 0 && !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
		return pod.Spec.Containers[n-1].Name
	}
	return name
}

// executorOf returns the number of an executor. If the pod's label has no number, it is the pod's name, so that each
// executor has its own file, and none has the driver's.
func executorOf(pod *corev1.Pod) string {
	number := lifecycle.ExecutorFacts(pod).ID
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return pod.Name
	}
	return number
}

// wants reports whether the log of a pod is to be kept now, and whether its container still runs. A container that
// never started has no log.
func wants(entry *keptlogs.Entry, pod *corev1.Pod, deleting bool) (wanted, follow bool) {
	evicting := evictedByNode(pod)

	if identity.IsDriver(pod) {
		switch lifecycle.DriverFacts(pod, trim.SparkContainer(pod)).Phase {
		case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
			return true, false
		case lifecycle.DriverRunning, lifecycle.DriverUnknown:
			return deleting || evicting, true
		}
		return false, false
	}

	all := entry.Executors == keptlogs.ExecutorsAll
	switch lifecycle.ExecutorFacts(pod).Phase {
	case lifecycle.DriverFailed:
		return entry.Executors != keptlogs.ExecutorsNone, false
	case lifecycle.DriverSucceeded:
		return all, false
	case lifecycle.DriverRunning, lifecycle.DriverUnknown:
		return all && deleting || evicting && entry.Executors != keptlogs.ExecutorsNone, true
	}
	return false, false
}

// evictedByNode reports whether the kubelet ends a pod, for example because the pod uses too much disk space. The
// kubelet removes the containers of such a pod as soon as they have ended. Afterwards it is too late to read the log.
func evictedByNode(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
	})
}

// Hold returns how long the deletion of a pod has to wait for its log; 0 if it need not wait. A deletion need not wait
// if the log is kept, if a stream is open that will have all of it, if the time to wait is over, or if the configured
// time is 0.
func (k *Keeper) Hold(kind schema.GroupVersionKind, key types.NamespacedName, pod *corev1.Pod) time.Duration {
	if pod.DeletionTimestamp != nil {
		return 0 // it is too late to wait
	}

	t := k.observe(kind, key, pod, true, false)

	k.mu.Lock()
	if !k.leads { // the passes of a new leader can begin before Start
		k.mu.Unlock()
		return firstDelay
	}
	k.mu.Unlock()

	if t == nil {
		return 0
	}

	k.mu.Lock()
	if k.tasks[pod.UID] != t || t.opened && t.follow || t.gone || t.place.entry.Wait.Duration == 0 {
		k.mu.Unlock()
		return 0
	}

	if t.held.IsZero() {
		t.held = time.Now()
	}

	left := t.place.entry.Wait.Duration - time.Since(t.held)
	report := left <= 0 && !t.late
	t.late = t.late || left <= 0
	problem := t.problem
	k.mu.Unlock()

	if report {
		text := "its pod was to be deleted, and it could not be read and stored within " + t.place.entry.Wait.Duration.String()
		if problem != nil {
			text += ": " + problem.Error()
		}

		k.report(t, &lifecycle.Cause{Reason: ReasonTimeout, Message: text})
	}
	return max(0, left)
}

// joinTime is the longest time that the status write about the end of a driver waits for the driver's log. It is short,
// because a schedule's next run and users wait for this write.
const joinTime = time.Second

// Soon returns how long the status write about the end of a driver can wait for the driver's log, so that one write has
// both; 0 if the result is there, or cannot be expected soon.
func (k *Keeper) Soon(owner types.NamespacedName, uid types.UID, number int32) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()

	a := k.attempts[id{owner, uid, number}]
	if a == nil || a.driver == nil || a.driver.ended.IsZero() || a.driver.problem != nil {
		return 0
	}
	return max(0, joinTime-time.Since(a.driver.ended))
}

// Result returns what is known about the logs of a custom resource's last attempt that had a log to keep; nil if this
// process has no result.
func (k *Keeper) Result(uid types.UID) *lifecycle.Logs {
	k.mu.Lock()
	defer k.mu.Unlock()

	if result, known := k.results[uid]; known {
		return &result
	}
	return nil
}

// Forget drops what is known about a custom resource that does not exist any more. Its open tasks go on.
func (k *Keeper) Forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()

	delete(k.results, uid)
	maps.DeleteFunc(k.attempts, func(at id, a *attempt) bool {
		a.forgotten = a.forgotten || at.uid == uid
		return at.uid == uid && a.open == 0
	})
}
