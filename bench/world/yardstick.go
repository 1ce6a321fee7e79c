package world

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// workEvery is the time between two pieces of work: some 2 ms of CPU a second in all, of the bench's own.
	workEvery = 500 * time.Millisecond
	// workSize is how many numbers a piece of work sorts: 1 to 2 ms.
	workSize = 20_000
)

// Yardstick does the same piece of work again and again, and notes what CPU each took. What a processor does in a second changes by the hour on a machine that others
// use as well, by a half and more, and no reading of stolen time tells it: the work that is to be measured becomes dearer with this one, and by no fault of its own.
type Yardstick struct {
	mu    sync.Mutex
	works []work
	stop  chan struct{}
	done  sync.WaitGroup
}

// work is a piece of work that was done.
type work struct {
	at   time.Time // when it was done
	took time.Duration
}

// NewYardstick begins to work, on a thread of its own, until Stop. Where the system does not tell a thread's CPU nothing is noted.
func NewYardstick(every time.Duration) *Yardstick {
	y := &Yardstick{stop: make(chan struct{})}
	y.done.Go(func() {
		runtime.LockOSThread() // whose CPU is counted
		defer runtime.UnlockOSThread()
		tick := time.NewTicker(every)
		defer tick.Stop()
		numbers := make([]uint64, workSize)
		for {
			select {
			case <-y.stop:
				return
			case <-tick.C:
				y.measure(numbers)
			}
		}
	})
	return y
}

// Stop ends the work. What was noted stays.
func (y *Yardstick) Stop() {
	close(y.stop)
	y.done.Wait()
}

// Between is the CPU that a piece of work took at the median of those done in a span; 0 where none was.
func (y *Yardstick) Between(from, to time.Time) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	var took []time.Duration
	for _, w := range y.works {
		if !w.at.Before(from) && !w.at.After(to) {
			took = append(took, w.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// measure does a piece of work.
func (y *Yardstick) measure(numbers []uint64) {
	before, known := threadCPU()
	toil(numbers)
	after, _ := threadCPU()
	if !known {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.works = append(y.works, work{time.Now(), after - before})
}

// toil sorts numbers that are the same each time (Knuth's MMIX generator): comparisons, branches that cannot be foreseen, and more memory than the fastest cache has.
func toil(numbers []uint64) {
	x := uint64(1)
	for i := range numbers {
		x = x*6364136223846793005 + 1442695040888963407
		numbers[i] = x
	}
	slices.Sort(numbers)
}
