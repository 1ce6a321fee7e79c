package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestProbeEndsNoRefusalOfTheInformer walks all orders of three results: lists and watches of the informer itself, and
// probes, each refused or not. A probe that began before the informer was refused may end after that, so each order can
// occur. After a refusal of the informer, only the informer itself ends it, because until then its store lacks objects.
func TestProbeEndsNoRefusalOfTheInformer(t *testing.T) {
	t.Parallel()

	forbidden := errors.New("forbidden")

	results := []struct {
		err     error
		byProbe bool
	}{{forbidden, false}, {forbidden, true}, {nil, false}, {nil, true}}
	for i := range len(results) * len(results) * len(results) {
		watches := New(runtime.NewScheme(), logr.Discard(), nil)
		w := &watched{Watches: watches, place: place{"n", pods}, located: true}
		watches.all = append(watches.all, w)

		var informer, probe bool // what has refused
		for _, at := range []int{i / len(results) / len(results), i / len(results) % len(results), i % len(results)} {
			result := results[at]
			w.record(result.err, result.byProbe)

			if result.byProbe {
				probe = result.err != nil
			} else {
				informer, probe = result.err != nil, false
			}

			if refused := watches.Refused("n", pods) != nil; refused != (informer || probe) {
				t.Errorf("order %d, after %+v: refused %t", i, result, refused)
			}
		}
	}
}

// TestShortRefusalWakes checks a namespace whose rights are refused and given back between two reports of changes. A
// pass in between was skipped, so the namespace must be queued.
func TestShortRefusalWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kinds"}, []string{"namespace"})
		watches := New(runtime.NewScheme(), logr.Discard(), gauge)
		w := &watched{Watches: watches, place: place{"n", pods}, located: true,
			informer: toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &corev1.Pod{}, 0, nil)}
		watches.all = append(watches.all, w)
		var woken []string
		watches.OnChange(func(namespace string) { woken = append(woken, namespace) })

		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()

		w.record(errors.New("forbidden"), false)
		w.record(nil, false)

		if err := watches.Start(ctx); err != nil {
			t.Fatal(err)
		}

		if len(woken) != 1 || woken[0] != "n" {
			t.Errorf("queued namespaces: %q, want n once", woken)
		}
	})
}
