package logs

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// sweepInterval is the time between two sweeps of the stores.
const sweepInterval = time.Hour

// sweepOften deletes the logs whose retention is over, until ctx ends.
func (k *Keeper) sweepOften(ctx context.Context) {
	for {
		k.Sweep(ctx, time.Now()) // also at the begin of each term, because a term may be shorter than the interval

		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepInterval):
		}
	}
}

// Sweep deletes the objects whose retention is over at a given time. It deletes only objects of this package's layout
// below the prefix of an entry's store, of the namespaces whose logs the entry governs.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) {
	for i := range k.places.all {
		p := &k.places.all[i]
		if p.bucket == nil || p.entry.Retention == nil {
			continue
		}

		deleted, err := k.sweep(ctx, p, now.Add(-p.entry.Retention.Duration))
		if err != nil && ctx.Err() == nil {
			k.Log.Error(err, "Could not delete old logs", "store", p.bucket.String())
		}

		if deleted > 0 {
			k.Log.Info("Deleted old logs", "store", p.bucket.String(), "objects", deleted)
		}
	}
}

// sweep deletes the attempts and the run records of which no object was written after a given time. It holds the keys
// of one attempt at a time.
func (k *Keeper) sweep(ctx context.Context, p *place, before time.Time) (deleted int, _ error) {
	var group []string // the keys of an attempt; they come one after the other
	var newest time.Time
	last := "" // the folder of these keys

	flush := func() error {
		defer func() { group, newest = nil, time.Time{} }()

		if len(group) == 0 || !newest.Before(before) || k.uploads(last) {
			return nil
		}

		for _, key := range slices.Backward(group) { // the index, which is last, goes first
			if err := p.bucket.Delete(ctx, key); err != nil {
				return err
			}
			deleted++
		}
		return nil
	}

	for object, err := range p.bucket.List(ctx, "") {
		if err != nil {
			return deleted, err
		}

		namespace, rest, _ := strings.Cut(object.Key, "/")
		if !store.IsOwn(object.Key) || !k.places.governs(p, namespace) {
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
