package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sparkoperator/spark-operator/internal/webhook/quota"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// perSecond is the rate at which BenchmarkCreations creates applications.
const perSecond = 100

// BenchmarkCreations creates applications at a constant rate, and measures how long the API server takes for each and
// how long the reviews take. It does so without the webhook, with the webhook, and with a quota. Each case takes 20 s:
//
//	go test ./internal/webhook -run '^$' -bench Creations -benchtime 2000x
//
// A creation begins at its time even if earlier creations are not finished, so that slow answers do not reduce the
// load.
func BenchmarkCreations(b *testing.B) {
	for _, c := range []struct {
		name              string
		webhook, enforced bool
	}{{name: "without"}, {name: "webhook", webhook: true}, {name: "quotas", webhook: true, enforced: true}} {
		b.Run(c.name, func(b *testing.B) {
			h := hook(b)
			if c.enforced {
				h.quota(map[string]string{"pods": "100", "requests.cpu": "1000", "limits.memory": "1Ti"})
				quotas := h.quotaCache(b)
				h.change(func(h *hooked) { h.enforced, h.cached = true, quotas.In })
			}

			if !c.webhook {
				h.Remove(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: h.Namespace}})
			}

			h.create(b, "warm", 50)
			h.reviews.take()
			b.ResetTimer()
			created := h.create(b, "pi", b.N)
			b.StopTimer()
			created.report(b, "create")
			h.reviews.take().report(b, "review")
		})
	}
}

// quotaCache starts the operator's cache of ResourceQuotas for the namespace of the test, and waits until it is full.
func (h *hooked) quotaCache(b *testing.B) *quota.Cache {
	b.Helper()

	c, err := quota.NewCache(kit.Rest(b), cache.Options{DefaultNamespaces: map[string]cache.Config{h.Namespace: {}}})
	if err != nil {
		b.Fatal(err)
	}

	go func() { _ = c.Start(b.Context()) }() // ends with the test

	kit.Wait(b, "the cache of quotas", func(context.Context) error { return c.Ready(nil) })
	return c
}

// create creates n applications at the rate perSecond, and returns the durations of the requests.
func (h *hooked) create(b *testing.B, name string, n int) *durations {
	b.Helper()

	took := &durations{}
	var group sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()

	for i := range n {
		<-tick.C
		group.Go(func() {
			object := h.object(fmt.Sprintf("metadata: {name: %s-%d}", name, i))
			begin := time.Now()

			if err := h.user.Create(b.Context(), object); err != nil {
				b.Error(err)
			}

			took.add(time.Since(begin))
		})
	}

	group.Wait()
	return took
}

// durations collects durations.
type durations struct {
	mu  sync.Mutex
	all []time.Duration
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.all = append(d.all, took)
}

// take returns the durations since the last call.
func (d *durations) take() *durations {
	d.mu.Lock()
	defer d.mu.Unlock()

	taken := &durations{all: d.all}
	d.all = nil
	return taken
}

// report adds the median, the 99th percentile and the maximum to a benchmark's metrics.
func (d *durations) report(b *testing.B, what string) {
	if len(d.all) == 0 {
		return
	}

	slices.Sort(d.all)

	for unit, i := range map[string]int{"p50": len(d.all) / 2, "p99": len(d.all) * 99 / 100, "max": len(d.all) - 1} {
		b.ReportMetric(float64(d.all[i].Microseconds())/1000, what+"-"+unit+"-ms")
	}
}

// timed returns a handler that passes each request to the given handler, and records how long this handler takes to
// read and answer the request.
func timed(next http.Handler, reviews *durations) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		begin := time.Now()

		next.ServeHTTP(out, req)
		reviews.add(time.Since(begin))
	})
}
