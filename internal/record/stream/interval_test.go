package stream

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// silent is a source of logs that have no lines.
type silent struct{}

func (silent) Open(context.Context, Request) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

func (silent) UID(context.Context, types.NamespacedName) (types.UID, error) { return "", nil }

// TestLogsAreReadInTheirInterval checks that no log waits longer than its interval if all can be read in time, and that
// they take turns if there are too many. A log was once due a moment after its round had begun, so it waited for the
// next one, and 18 s passed instead of 15 s.
//
// With too many logs, a log that became due while others waited for slots once got a slot before them, so that others
// waited 42 s instead of 30 s. A round may bring those of one round in another order.
func TestLogsAreReadInTheirInterval(t *testing.T) {
	for name, c := range map[string]struct {
		logs             int
		interval, atMost time.Duration
	}{
		"few logs":                    {10, 15 * time.Second, 15 * time.Second},
		"1,000 logs every 15 s":       {1000, 15 * time.Second, 15 * time.Second},
		"short interval":              {30, time.Second, time.Second},
		"long interval":               {1000, time.Minute, time.Minute},
		"twice as many as can be":     {2 * 15 * perSecond, 15 * time.Second, 30*time.Second + maxRound},
		"as many as the bound allows": {15 * perSecond, 15 * time.Second, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				seen := &counted{}
				s := New(silent{}, seen, logr.Discard())

				var run sync.WaitGroup
				run.Go(func() { s.Run(ctx) })

				for i := range c.logs {
					s.Begin(&Log{UID: types.UID(fmt.Sprint(i)), Node: fmt.Sprint(i), loaded: true, Interval: c.interval})
				}

				time.Sleep(10 * c.interval) // the logs that begin together are spread over the rounds
				seen.longest.Store(0)
				time.Sleep(10 * c.interval)

				if got := time.Duration(seen.longest.Load()) * time.Millisecond; got > c.atMost || got == 0 {
					t.Errorf("the longest interval is %s, not %s at most", got, c.atMost)
				}

				cancel()
				run.Wait()
			})
		})
	}
}
