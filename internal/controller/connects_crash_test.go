package controller

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

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
)

// TestCrashInAServersLife kills the operator before and after writes of a launch, a roll-out, an edit of the Service, a suspension and what follows it, one
// in each life. Another process goes on. No life has two servers at once, starts an attempt twice, or another Service than the first. CRASH_POINTS=all
// takes every write.
func TestCrashInAServersLife(t *testing.T) {
	t.Parallel()
	stride := 5
	if os.Getenv("CRASH_POINTS") == "all" {
		stride = 1
	}
	const points = 62 // twice the writes of a life, and some more, at which nobody dies
	ended := map[bool]int{}
	var mu sync.Mutex
	t.Run("cut", func(t *testing.T) {
		for point := 0; point < points; point += stride {
			t.Run(fmt.Sprintf("at-%d-%t", point/2+1, point%2 == 1), func(t *testing.T) {
				t.Parallel()
				died := serversLife(t, &crashing{at: point/2 + 1, after: point%2 == 1, killed: make(chan struct{})})
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
		t.Errorf("the points do not fit the writes of a life: %v", ended)
	}
}

// serversLife plays one life whose operator dies as given, and reports whether it did.
func serversLife(t *testing.T, crash *crashing) (died bool) {
	w, clock := newWorld(t), &later{}
	stop := w.runServers(testConfig(w.namespace), clock.now, func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	var others sync.WaitGroup
	over := make(chan struct{})
	others.Go(func() {
		select {
		case <-crash.killed:
			died = true
			stop()
			w.runServers(testConfig(w.namespace), clock.now)
		case <-over:
		}
	})
	sc := w.server("x")
	started := w.witnessServers(sc, over, &others)

	w.readyServer(sc, 1)
	service := w.serverService("x-server")
	w.patchServer("x", `{"spec":{"sparkConf":{"spark.a":"b"}}}`)
	w.readyServer(sc, 2)
	w.patchServer("x", `{"spec":{"server":{"service":{"metadata":{"annotations":{"a":"b"}}}}}}`)
	w.serverService("x-server", func(s *corev1.Service) error { return want(s.Annotations["a"], "b") })
	w.patchServer("x", `{"spec":{"suspend":true}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady)
	w.waitNoServer(sc)
	w.patchServer("x", `{"spec":{"suspend":false}}`)
	last := w.readyServer(sc, 3)
	after := w.serverService("x-server", selects(last))
	close(over)
	others.Wait()
	for attempt, pods := range started {
		if len(pods) > 1 {
			t.Errorf("attempt %s was started %d times", attempt, len(pods))
		}
	}
	if len(started) != 3 || after.UID != service.UID {
		t.Errorf("started: %v; the Service was %s and is %s", started, service.UID, after.UID)
	}
	return died
}

// witnessServers watches a SparkConnect's servers until a life is over: never two at once. It returns those of each attempt, to be read after that.
func (w *world) witnessServers(sc *v1alpha1.SparkConnect, over <-chan struct{}, others *sync.WaitGroup) map[string]map[types.UID]bool {
	started := map[string]map[types.UID]bool{}
	others.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			var pods corev1.PodList
			if err := w.api.List(context.Background(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{
				labelAppUID: string(sc.UID), labelRole: roleServer,
			}); err != nil {
				w.t.Error(err)
			}
			if len(pods.Items) > 1 {
				w.t.Errorf("%d servers at once", len(pods.Items))
			}
			for i := range pods.Items {
				attempt := pods.Items[i].Labels[labelAttempt]
				if started[attempt] == nil {
					started[attempt] = map[types.UID]bool{}
				}
				started[attempt][pods.Items[i].UID] = true
			}
		}
	})
	return started
}
