package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/internal/intake/watchdog"
	"github.com/sparkoperator/spark-operator/internal/settings/live"
)

// These names are for the external tests of this package.
var (
	FirstPasses = firstPasses
	InNamespace = inNamespace
	NewCache    = newCache
	NewLock     = newLock
	NewScope    = newScope
)

// Lock is the lock of the leader election.
type Lock = lock

func (op *Operator) Hangs() *watchdog.Watchdog { return op.hangs }

func (op *Operator) Lock() *lock { return op.lock }

func (op *Operator) Unserved(gvk schema.GroupVersionKind, fields []string) (reason, err error) {
	return op.unserved(gvk, fields)
}

func (op *Operator) WaitServed(ctx context.Context, gvk schema.GroupVersionKind, fields []string) error {
	return op.waitServed(ctx, gvk, fields)
}

// Follow makes a scope follow settings.
func (s *scope) Follow(live *live.Live) { s.live = live }
