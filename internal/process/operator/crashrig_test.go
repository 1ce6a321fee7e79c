package operator

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// crashStride returns the distance between two tested crash points: 1 if the environment has CRASH_POINTS=all, and
// otherwise the given number. A test of all points takes minutes and is part of make e2e.
func crashStride(sample int) int {
	if os.Getenv("CRASH_POINTS") == "all" {
		return 1
	}
	return sample
}

// forCrashPoints calls the function play for crash points: each write of the operator has one just before and one just
// after it. The argument `points` is the number of all crash points. Unless CRASH_POINTS=all is set, only every n-th
// crash point is played, where n is the argument `sample`. The last few points lie beyond the last write, so the
// operator does not crash there.
func forCrashPoints(t *testing.T, points, sample int, play func(*testing.T, *crashing) (died bool)) {
	t.Helper()
	kit.Rest(t) // skips the test if there is no control plane

	stride := crashStride(sample)
	ended := map[bool]int{}
	var mu sync.Mutex
	t.Run("cut", func(t *testing.T) {
		for point := 0; point < points; point += stride {
			t.Run(fmt.Sprintf("at-%d-%t", point/2+1, point%2 == 1), func(t *testing.T) {
				t.Parallel()
				died := play(t, &crashing{at: point/2 + 1, after: point%2 == 1, killed: make(chan struct{})})

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

// crashLife is a simulated life in which an operator crashes and another operator continues.
type crashLife struct {
	w       *world
	died    bool
	over    chan struct{}
	others  sync.WaitGroup
	started map[string]map[types.UID]bool // the pods of each attempt
}

// startCrashLife starts a simulated life: it runs an operator until that operator crashes at the given point, and then
// runs another operator.
func (w *world) startCrashLife(crash *crashing, run func(...func(*Environment)) (stop func())) *crashLife {
	m := &crashLife{w: w, over: make(chan struct{}), started: map[string]map[types.UID]bool{}}
	stop := run(func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	m.others.Go(func() {
		select {
		case <-crash.killed:
			m.died = true

			stop()
			run()
		case <-m.over:
		}
	})
	return m
}

// checkSingle starts a periodic check that runs until the simulated life ends (crashLife.end). The check fails the test
// if two pods of the custom resource have the given role at the same time.
func (m *crashLife) checkSingle(object client.Object, role string) {
	look := func() {
		var pods corev1.PodList
		if err := m.w.API.List(context.Background(), &pods, client.InNamespace(m.w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(object.GetUID()), identity.RoleLabel: role,
		}); err != nil {
			m.w.T.Error(err)
		}

		if len(pods.Items) > 1 {
			m.w.T.Errorf("%d pods of role %s at once", len(pods.Items), role)
		}

		for i := range pods.Items {
			attempt := pods.Items[i].Labels[identity.AttemptLabel]
			if m.started[attempt] == nil {
				m.started[attempt] = map[types.UID]bool{}
			}

			m.started[attempt][pods.Items[i].UID] = true
		}
	}
	m.others.Go(func() {
		for {
			select {
			case <-m.over:
				return
			case <-time.After(10 * time.Millisecond):
				look()
			}
		}
	})
}

// end finishes a simulated life, and reports whether its operator crashed. It checks that the life had the given number
// of attempts and that each attempt was started only once.
func (m *crashLife) end(attempts int) (died bool) {
	m.w.T.Helper()
	close(m.over)
	m.others.Wait()

	for attempt, pods := range m.started {
		if len(pods) > 1 {
			m.w.T.Errorf("attempt %s was started %d times", attempt, len(pods))
		}
	}

	if len(m.started) != attempts {
		m.w.T.Errorf("started: %v", m.started)
	}
	return m.died
}
