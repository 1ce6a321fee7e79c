package dependents

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSideBySide checks that InParallel makes all calls, at most requestsAtOnce at a time.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at, most, done atomic.Int32
		InParallel(100, func(int) {
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

// TestLivePagesWaitNoLongerThanTheirPass checks a read that waits, because other reads hold the largest number of pages
// in memory. The read must return an error when its pass ends.
func TestLivePagesWaitNoLongerThanTheirPass(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	taken := 0
	for full := false; !full; {
		select {
		case pagesInMemory <- struct{}{}:
			taken++
		default:
			full = true
		}
	}
	defer func() {
		for range taken {
			<-pagesInMemory
		}
	}()

	if _, err := (Client{}).LivePods(ctx); err == nil {
		t.Error("a pass that is over has read a page")
	}
}

// pager is a reader that serves a list of pods in pages and records the largest number of pages in memory.
type pager struct {
	client.Reader
	pods, most int
}

func (p *pager) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	from, _ := strconv.Atoi(asked.Continue)
	to := min(p.pods, from+int(asked.Limit))

	list.(*corev1.PodList).Items = make([]corev1.Pod, to-from)
	if to < p.pods {
		list.SetContinue(strconv.Itoa(to))
	}

	p.most = max(p.most, len(pagesInMemory))
	return nil
}

// TestLivePagesAreGivenBack checks that all pages of a list are read, and that at most livePages pages are in memory at
// a time.
func TestLivePagesAreGivenBack(t *testing.T) {
	const n = 3*LivePage + 1
	from := &pager{pods: n}

	pods, err := Client{Live: from}.LivePods(t.Context())
	if err != nil || len(pods) != n || from.most == 0 || from.most > livePages {
		t.Errorf("%d pods, %d pages at a time, %v", len(pods), from.most, err)
	}
}
