package logs

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/record/store"
)

const (
	omitDelay = time.Second // so that executors that fail at the same time need one write
	omitTries = 10
)

// omit counts an executor whose log is not kept because there are too many, and starts a task that writes the number to
// the index. The caller holds the lock.
func (k *Keeper) omit(t *task) {
	a := t.attempt
	a.omitted++

	uid := types.UID(fmt.Sprintf("omitted/%s/%d", a.UID, a.Number))
	if k.tasks[uid] == nil {
		a.open++
		k.tasks[uid] = &task{attempt: a, place: t.place, uid: uid, omits: true, gone: true, since: time.Now()}
		k.ended.AddAfter(uid, omitDelay)
	}
}

// countOmitted writes the number of omitted executors to the index of an attempt. It returns the time until the next
// try; 0 if no further try is needed.
func (k *Keeper) countOmitted(ctx context.Context, t *task) time.Duration {
	a := t.attempt
	_, exists := k.Stored(ctx, a.Attempt)

	k.mu.Lock()

	a.forgotten = a.forgotten || !exists
	if !exists && t.place.bucket == nil { // nobody would own the ConfigMap
		k.dropLocked(t)
		k.mu.Unlock()
		return 0
	}

	before := a.omitted
	t.tries++
	last := t.tries == omitTries
	k.mu.Unlock()

	_, err := k.save(ctx, t, store.File{}, nil)
	if err != nil && !last {
		return min(firstDelay<<t.tries, maxDelay)
	}

	if err != nil {
		k.Log.V(1).Info("Could not record how many executors were omitted", "app", a.Name, "namespace", a.Namespace, "cause", err.Error())
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	if err == nil && a.omitted > before {
		t.tries = 0
		return omitDelay
	}

	k.dropLocked(t)
	return 0
}
