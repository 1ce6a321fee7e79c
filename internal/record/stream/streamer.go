// Package stream uploads the logs of drivers while they run, so that a node that is lost, a pod that is deleted without
// a grace period, or a log that the node rotates loses only the last seconds.
//
// The Streamer reads each log in intervals, from where the last read has stopped, and does not keep a request open:
// 1,000 open streams would need memory here and in the API server, and each line would wake both. The lines have times
// in the answer, and the time of the last line is the position from which the next read continues.
//
// The text goes to parts, which the package store describes. At the end of the attempt, the package logs replaces them
// by the log that is kept.
package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/sparkoperator/spark-operator/internal/record/capture"
)

// The bounds of a Streamer.
const (
	storeReaders = 8 // logs of one store that are read at the same time
	nodeReaders  = 3 // of one node
	// perSecond is how many reads begin in a second at most. It bounds the CPU time, however many drivers run: they
	// take turns, so each waits longer.
	perSecond = 70
	// maxRound is the time between two rounds. The reads of a round follow each other without a pause, which takes less
	// CPU time than single reads, for which the processor's caches are cold.
	maxRound    = 3 * time.Second
	maxMemory   = 32 << 20 // of all open parts
	readTimeout = 30 * time.Second
	maxDelay    = time.Minute // after failed reads, or the interval if that is longer
	reportEvery = 10 * time.Minute
)

// Metrics observes the reads of logs.
type Metrics interface {
	// LogStreams sets the number of logs that are streamed.
	LogStreams(n int)
	// LogStreamed observes a successful read, and the time since the last one of the same log.
	LogStreamed(seconds float64)
	// LogStreamFailed counts a failed read.
	LogStreamFailed()
}

// Streamer reads the logs of running drivers.
type Streamer struct {
	source  Source
	metrics Metrics
	log     logr.Logger
	memory  *capture.Memory
	slots   Slots
	queue   workqueue.TypedDelayingInterface[types.UID]
	held    []*Log      // that are due and wait for slots; only Run uses it
	freed   atomic.Bool // slots were given back since held was searched

	mu       sync.Mutex
	logs     map[types.UID]*Log
	round    time.Duration // a fifth of the shortest interval, and at most maxRound
	reported time.Time
}

// New returns a Streamer.
func New(source Source, metrics Metrics, log logr.Logger) *Streamer {
	return &Streamer{
		source: source, metrics: metrics, log: log, memory: capture.NewMemory(maxMemory), logs: map[types.UID]*Log{},
		round: maxRound, queue: workqueue.NewTypedDelayingQueue[types.UID](),
	}
}

// Streams reports whether the log of a pod is streamed.
func (s *Streamer) Streams(pod types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[pod] != nil
}

// Has reports whether a log of an attempt is streamed. The argument is the beginning of the attempt's keys.
func (s *Streamer) Has(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, l := range s.logs {
		if l.Attempt.Dir() == dir {
			return true
		}
	}
	return false
}

// Begin streams a log. The first read comes within the interval, so that the logs of a cluster take turns after the
// operator starts.
func (s *Streamer) Begin(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.logs[l.UID] != nil {
		return
	}

	l.memory, l.last = s.memory, time.Now()
	s.round = min(s.round, l.Interval/5)
	s.logs[l.UID] = l
	s.metrics.LogStreams(len(s.logs))
	s.queue.AddAfter(l.UID, rand.N(l.Interval))
}

// Take ends the stream of a pod's log and returns the log; nil if it is not streamed. A read that has begun is
// cancelled.
func (s *Streamer) Take(pod types.UID) *Log {
	s.mu.Lock()
	l := s.logs[pod]
	delete(s.logs, pod)
	s.metrics.LogStreams(len(s.logs))

	if l != nil {
		l.ended = true
		if l.cancel != nil {
			l.cancel()
		}
	}
	s.mu.Unlock()

	if l != nil {
		l.mu.Lock() // waits for the read
		defer l.mu.Unlock()
	}
	return l
}

// Run streams logs until ctx ends.
func (s *Streamer) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, s.queue.ShutDown)()

	var reads sync.WaitGroup
	defer reads.Wait()

	began, begun := time.Now(), 0 // the round
	for {
		s.mu.Lock()
		round := s.round
		s.mu.Unlock()

		if s.queue.Len() == 0 && len(s.held) == 0 || begun >= max(1, int(perSecond*round/time.Second)) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(began.Add(round))):
				began, begun = time.Now(), 0
			}
		}

		l, stop := s.next()
		if stop {
			return
		}

		if l == nil {
			continue
		}

		begun++

		reads.Go(func() {
			next := s.read(ctx, l)
			s.slots.Give(l.slots()...)
			s.freed.Store(true)

			if next >= 0 {
				s.queue.AddAfter(l.UID, next)
			}

			s.queue.Done(l.UID)
			s.queue.Add(wake)
		})
	}
}

// wake is a key of the queue that ends the wait for the next log, because slots are free again.
const wake types.UID = ""

// next returns the next log that is due and has its slots; nil if there is none yet. Logs that wait for slots keep
// their order, and logs of other stores and nodes pass them.
func (s *Streamer) next() (l *Log, stop bool) {
	if s.freed.Swap(false) {
		if l := s.nextHeld(); l != nil {
			return l, false
		}
	}

	uid, stop := s.queue.Get()
	if stop {
		return nil, true
	}

	if l = s.streamed(uid); l == nil {
		s.queue.Done(uid)
		return nil, false
	}

	s.held = append(s.held, l)
	if s.slots.Full(l.slots()[0]) {
		return nil, false
	}

	// A slot may have become free since held was searched. The log that has waited longest gets it.
	return s.nextHeld(), false
}

// nextHeld returns the first log that waits for slots and gets them; nil if there is none.
func (s *Streamer) nextHeld() *Log {
	full := map[string]bool{} // stores
	for i := 0; i < len(s.held); i++ {
		l := s.held[i]
		if full[l.Store] {
			continue
		}

		slots := l.slots()

		switch {
		case s.streamed(l.UID) != l:
			s.held = slices.Delete(s.held, i, i+1)
			s.queue.Done(l.UID)
			i--
		case s.slots.Take(slots...):
			s.held = slices.Delete(s.held, i, i+1)
			s.freed.Store(true) // there may be slots for another one
			return l
		case s.slots.Full(slots[0]):
			full[l.Store] = true
		}
	}
	return nil
}

// streamed returns the log of a pod; nil if it is not streamed any more.
func (s *Streamer) streamed(pod types.UID) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[pod]
}

// slots returns what a read of the log needs all the time.
func (l *Log) slots() []Slot {
	return []Slot{{"store " + l.Store, storeReaders}, {"node " + l.Node, nodeReaders}}
}

// read makes one read of a log. It returns the time until the next one; negative if there is none.
func (s *Streamer) read(ctx context.Context, l *Log) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()

	s.mu.Lock()
	ended := l.ended
	l.cancel = cancel
	s.mu.Unlock()

	if ended {
		return -1
	}

	begin, before := time.Now(), l.total
	err := l.read(ctx, s.source)

	if errors.Is(err, context.DeadlineExceeded) && l.total > before {
		err = nil // a long log, of which the next read gets more
	}

	if apierrors.IsNotFound(err) || errors.Is(err, errOtherPod) {
		return max(l.Interval, maxDelay) // the keeper of logs ends the stream when it receives the event of the pod
	}

	if err != nil {
		return s.failed(l, err)
	}

	s.succeeded(l, begin)

	// A log waits for the next round after it is due, so it is due almost a round earlier than it has to be read.
	s.mu.Lock()
	early := s.round * 9 / 10
	s.mu.Unlock()

	return max(0, l.Interval-early-time.Since(begin))
}

// failed counts a failed read, and reports the third one. It returns the time until the next read; negative if there is
// none.
func (s *Streamer) failed(l *Log, err error) time.Duration {
	s.mu.Lock()
	ended := l.ended
	s.mu.Unlock()

	if ended {
		return -1 // the read was cancelled
	}

	s.metrics.LogStreamFailed()

	if l.fails++; l.fails == 3 {
		s.log.Info("Could not upload the log of a running driver", "pod", l.Pod, "completeUntil", l.readAt, "cause", err.Error())
	}
	return min(l.Interval<<min(l.fails-1, 8), max(l.Interval, maxDelay))
}

// succeeded observes the interval of a log, and reports that the intervals are too long.
func (s *Streamer) succeeded(l *Log, begin time.Time) {
	took, failed := begin.Sub(l.last), l.fails > 0

	l.last, l.fails = begin, 0

	s.metrics.LogStreamed(took.Seconds())

	if took < 2*l.Interval || failed {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if begin.Sub(s.reported) > reportEvery {
		s.reported = begin

		s.log.Info("Logs of running drivers are uploaded less often than configured, because there are many, or the store or the nodes are slow",
			"interval", took.Round(time.Second).String(), "streamInterval", l.Interval.String(), "logs", len(s.logs))
	}
}
