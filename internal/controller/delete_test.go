package controller

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSideBySide: all is done, and no more at a time than requestsAtOnce.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at, most, done atomic.Int32
		sideBySide(100, func(int) {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Second)
			at.Add(-1)
			done.Add(1)
		})
		if done.Load() != 100 || most.Load() != requestsAtOnce {
			t.Errorf("%d were done, %d at a time; want 100, %d at a time", done.Load(), most.Load(), requestsAtOnce)
		}
	})
}
