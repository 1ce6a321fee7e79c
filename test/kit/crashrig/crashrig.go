// Package crashrig runs operators of a world that crash before or after a chosen write, and others that continue.
package crashrig

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// CrashStride returns the distance between two tested crash points: 1 if the environment has CRASH_POINTS=all, and
// otherwise the given number. A test of all points takes minutes and is part of make e2e.
func CrashStride(sample int) int {
	if os.Getenv("CRASH_POINTS") == "all" {
		return 1
	}
	return sample
}

// ForCrashPoints calls the function play for crash points: each write of the operator has one just before and one just
// after it. The argument `points` is the number of all crash points. Unless CRASH_POINTS=all is set, only every n-th
// crash point is played, where n is the argument `sample`. The last few points lie beyond the last write, so the
// operator does not crash there.
func ForCrashPoints(t *testing.T, points, sample int, play func(*testing.T, *Crashing) (died bool)) {
	t.Helper()
	kit.Rest(t) // skips the test if there is no control plane

	stride := CrashStride(sample)
	ended := map[bool]int{}
	var mu sync.Mutex
	t.Run("cut", func(t *testing.T) {
		for point := 0; point < points; point += stride {
			t.Run(fmt.Sprintf("at-%d-%t", point/2+1, point%2 == 1), func(t *testing.T) {
				t.Parallel()

				crash := &Crashing{At: point/2 + 1, After: point%2 == 1, Killed: make(chan struct{})}

				died := play(t, crash)
				if !died {
					t.Logf("a life without a crash has %d writes", crash.Seen)
				}

				mu.Lock()
				defer mu.Unlock()
				ended[died]++
			})
		}
	})

	if t.Failed() {
		return
	}

	t.Logf("%d lives with a crash, %d without", ended[true], ended[false])

	if ended[true] < points/stride/2 || ended[false] == 0 && stride == 1 {
		t.Errorf("the number of crash points does not match the number of writes: %v", ended)
	}
}

// Life is a simulated life in which an operator crashes and another operator continues.
type Life struct {
	w      *world.World
	died   bool
	over   chan struct{}
	others sync.WaitGroup
	pods   *world.PodWatch
}

// StartCrashLife starts a simulated life: it runs an operator until that operator crashes at the given point, and then
// runs another operator.
func StartCrashLife(w *world.World, crash *Crashing, run func(...func(*operator.Environment)) (stop func())) *Life {
	m := &Life{w: w, over: make(chan struct{})}
	stop := run(func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	m.others.Go(func() {
		select {
		case <-crash.Killed:
			m.died = true

			stop()
			run()
		case <-m.over:
		}
	})
	return m
}

// CheckSingle starts a check that runs until the simulated life ends (Life.End). The check fails the test if two pods
// of the custom resource have the given role at the same time.
func (m *Life) CheckSingle(object client.Object, role string) {
	m.pods = m.w.WatchPods(object, role, false)
}

// CheckApart is like CheckSingle. It also fails the test if pods of two attempts exist at the same time.
func (m *Life) CheckApart(object client.Object, role string) {
	m.pods = m.w.WatchPods(object, role, true)
}

// End finishes a simulated life, and reports whether its operator crashed. It checks that the life had the given number
// of attempts and that each attempt was started only once.
func (m *Life) End(attempts int) (died bool) {
	m.w.T.Helper()
	return m.EndBetween(attempts, attempts)
}

// EndBetween is like End, for a life in which a crash may start an attempt anew.
func (m *Life) EndBetween(least, most int) (died bool) {
	m.w.T.Helper()
	close(m.over)
	m.others.Wait()

	if started := m.pods.End(); started < least || started > most {
		m.w.T.Errorf("%d attempts were started, not %d to %d", started, least, most)
	}
	return m.died
}
