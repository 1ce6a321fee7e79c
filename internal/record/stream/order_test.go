package stream

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// TestLogsWaitForSlotsInOrder checks that logs that find no free slot keep their turn, and that logs of another store
// and of another node pass them. Such logs once went behind all others each time, so that some were read four times
// less often than others.
func TestLogsWaitForSlotsInOrder(t *testing.T) {
	s := New(nil, &counted{}, logr.Discard())
	due := func(name, store, node string) {
		l := &Log{UID: types.UID(name), Store: store, Node: node}
		s.logs[l.UID] = l
		s.queue.Add(l.UID)
	}
	next := func() string {
		t.Helper()

		for s.queue.Len() > 0 {
			l, stop := s.next()
			if stop {
				t.Fatal("the queue is closed")
			}

			if l != nil {
				return string(l.UID)
			}
		}
		return ""
	}
	give := func(name string) {
		s.slots.Give(s.logs[types.UID(name)].slots()...)
		s.freed.Store(true)
		s.queue.Add(wake)
	}
	want := func(names ...string) {
		t.Helper()

		for _, name := range names {
			if got := next(); got != name {
				t.Fatalf("the next log is %q, not %q", got, name)
			}
		}
	}

	for i := range storeReaders + 3 {
		due(fmt.Sprint("a", i), "a", fmt.Sprint(i))
	}

	due("b0", "b", "0")
	want("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "b0", "")

	due("a11", "a", "11")
	give("a3")
	want("a8", "")

	delete(s.logs, "a9") // its stream has ended
	give("a4")
	give("a5")
	want("a10", "a11", "")

	for i := range nodeReaders + 1 {
		due(fmt.Sprint("c", i), "c", "busy")
	}

	due("c9", "c", "free")
	want("c0", "c1", "c2", "c9", "")
	give("c1")
	want("c3", "")
}
