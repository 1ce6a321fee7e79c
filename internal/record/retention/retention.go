// Package retention deletes the logs and run records that have been in their store for longer than the retention.
package retention

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/sparkoperator/spark-operator/internal/record/store"
)

const (
	// interval is the time between two sweeps of a store.
	interval = time.Hour
	// sweepers is how many stores are swept at the same time. A sweep holds a page of a list in memory.
	sweepers = 8
	// maxSilence is how long a store may take for each page of a list and for each deletion.
	maxSilence = 2 * time.Minute
)

// Entry is an entry of the configuration with a retention.
type Entry struct {
	URL       string // of the store
	Bucket    *store.Bucket
	Retention time.Duration
	// Governs reports whether the entry says how long the objects of a namespace stay.
	Governs func(namespace string) bool
}

// Sweeper deletes old objects.
type Sweeper struct {
	stores  map[string][]Entry // by their URLs
	uploads func(folder string) bool
	log     logr.Logger
	slots   chan struct{} // stores that are swept
	silence time.Duration // after which a sweep ends if its store does not answer
}

// New returns a Sweeper. The argument uploads reports whether the log of an attempt is uploaded at present. It receives
// the folder of the attempt. Such an attempt stays, however old its last upload is.
func New(entries []Entry, uploads func(folder string) bool, log logr.Logger) *Sweeper {
	s := &Sweeper{stores: map[string][]Entry{}, uploads: uploads, log: log, slots: make(chan struct{}, sweepers), silence: maxSilence}
	for _, e := range entries {
		s.stores[e.URL] = append(s.stores[e.URL], e)
	}
	return s
}

// Run deletes the objects whose retention is over, until ctx ends. Each store has sweeps of its own, so that a store
// that does not answer delays no other one.
func (s *Sweeper) Run(ctx context.Context) {
	var stores sync.WaitGroup
	defer stores.Wait()

	for _, entries := range s.stores {
		stores.Go(func() {
			for {
				// Also at the begin of each term, because a term may be shorter than the interval.
				s.sweepStore(ctx, entries, time.Now())

				select {
				case <-ctx.Done():
					return
				case <-time.After(interval):
				}
			}
		})
	}
}

// Sweep deletes the objects whose retention is over at a given time. It deletes only objects of the layout of the
// package store below the prefix of an entry's store, of the namespaces that the entry governs.
func (s *Sweeper) Sweep(ctx context.Context, now time.Time) {
	var stores sync.WaitGroup
	defer stores.Wait()

	for _, entries := range s.stores {
		stores.Go(func() { s.sweepStore(ctx, entries, now) })
	}
}

// sweepStore deletes the old objects of one store for each of its entries.
func (s *Sweeper) sweepStore(ctx context.Context, entries []Entry, now time.Time) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.slots }()

	for _, e := range entries {
		deleted, err := s.sweepEntry(ctx, e, now.Add(-e.Retention))
		if err != nil && ctx.Err() == nil {
			s.log.Error(err, "Could not delete old logs", "store", e.Bucket.String())
		}

		if deleted > 0 {
			s.log.Info("Deleted old logs", "store", e.Bucket.String(), "objects", deleted)
		}
	}
}

// sweepEntry deletes the old objects of one entry, and ends if the store does not answer.
func (s *Sweeper) sweepEntry(ctx context.Context, e Entry, before time.Time) (deleted int, _ error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	silence := time.AfterFunc(s.silence, func() { cancel(fmt.Errorf("the store did not answer within %s", s.silence)) })
	defer silence.Stop()

	deleted, err := s.sweep(ctx, e, before, func() { silence.Reset(s.silence) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return deleted, err
}

// sweep deletes the attempts and the run records of which no object was written after a given time. It holds the keys
// of one attempt at a time. It calls the function answered after each answer of the store.
func (s *Sweeper) sweep(ctx context.Context, e Entry, before time.Time, answered func()) (deleted int, _ error) {
	var group []string // the keys of an attempt; they come one after the other
	var newest time.Time
	last := "" // the folder of these keys

	flush := func() error {
		defer func() { group, newest = nil, time.Time{} }()

		if len(group) == 0 || !newest.Before(before) || s.uploads(last) {
			return nil
		}

		for _, key := range slices.Backward(group) { // the index, which is last, goes first
			if err := e.Bucket.Delete(ctx, key); err != nil {
				return err
			}

			answered()

			deleted++
		}
		return nil
	}

	for object, err := range e.Bucket.List(ctx, "") {
		if err != nil {
			return deleted, err
		}

		answered()

		namespace, rest, _ := strings.Cut(object.Key, "/")
		if !store.IsOwn(object.Key) || !e.Governs(namespace) {
			continue
		}

		name := path.Dir(object.Key)
		if strings.HasPrefix(rest, store.Runs+"/") {
			name = object.Key // each record is on its own
		}

		if name != last {
			if err := flush(); err != nil {
				return deleted, err
			}
		}

		last, group = name, append(group, object.Key)
		if object.ModTime.After(newest) {
			newest = object.ModTime
		}
	}
	return deleted, flush()
}
