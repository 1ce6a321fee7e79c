package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// balancer accepts connections at one TCP address and forwards them to several replicas, as a Service does. Like a
// kubelet, it polls the replicas' readiness probes. Like kube-proxy, it distributes new connections among the ready
// replicas in turn, and does not move open connections to another replica.
type balancer struct {
	listener net.Listener
	replicas []*backend
	turn     atomic.Int64
}

type backend struct {
	webhook, probe string // addresses
	ready          atomic.Bool
	connections    atomic.Int64
}

// balance starts a balancer, which ends with the test.
func balance(t *testing.T, replicas ...*backend) *balancer {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	b := &balancer{listener: listener, replicas: replicas}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()

		_ = listener.Close()
	})

	for _, r := range replicas {
		go r.poll(ctx)
	}

	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}

			go b.forward(ctx, from)
		}
	}()
	return b
}

func (r *backend) poll(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for {
		status, _, err := world.Fetch(ctx, "http://"+r.probe+"/readyz")
		r.ready.Store(err == nil && status == http.StatusOK)

		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (b *balancer) forward(ctx context.Context, from net.Conn) {
	defer from.Close()

	first := int(b.turn.Add(1))
	for i := range b.replicas {
		r := b.replicas[(first+i)%len(b.replicas)]
		if !r.ready.Load() {
			continue
		}

		to, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.webhook)
		if err != nil {
			return // as kube-proxy, it tries no other replica
		}
		defer to.Close()

		r.connections.Add(1)

		go func() {
			_, _ = io.Copy(to, from)
			_ = to.(*net.TCPConn).CloseWrite()
		}()

		_, _ = io.Copy(from, to)
		return
	}
}

// TestWebhookOfAStoppingReplica checks that no call of the webhook fails while a replica stops. The API server calls
// the webhook all the time, and its failure policy is Fail.
func TestWebhookOfAStoppingReplica(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)
	w := world.New(t)
	dir := t.TempDir()
	chain := world.WriteCertificate(t, dir)
	var replicas []*backend

	var stops []func()
	for range 2 {
		cfg := world.Config(w.Namespace)
		election := &cfg.LeaderElection
		election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
		cfg.Health.BindAddress = kit.FreeAddress(t)
		cfg.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: dir,
			ShutdownDelay: metav1.Duration{Duration: 2 * time.Second}}
		stops = append(stops, w.RunBoth(cfg))
		replicas = append(replicas, &backend{webhook: cfg.Webhook.BindAddress, probe: cfg.Health.BindAddress})
	}

	b := balance(t, replicas...)
	for i, r := range replicas {
		kit.Wait(t, fmt.Sprintf("replica %d to be ready", i), func(context.Context) error {
			if !r.ready.Load() {
				return fmt.Errorf("%s is not ready", r.probe)
			}
			return nil
		})
	}

	w.ReviewBy("https://"+b.listener.Addr().String(), chain, w.Namespace)

	call := func(ctx context.Context) error {
		app := refusedByWebhook(w.Namespace)
		if err := w.API.Create(ctx, app, client.DryRunAll); err == nil ||
			!strings.Contains(err.Error(), "denied the request") {
			return fmt.Errorf("the webhook did not answer: %w", err)
		}
		return nil
	}
	kit.Wait(t, "the first call", call)

	ctx, cancel := context.WithCancel(t.Context())
	var calls, failed atomic.Int64

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := call(ctx); err != nil && ctx.Err() == nil {
					failed.Add(1)
					t.Errorf("call %d: %v", calls.Load(), err)
				}

				calls.Add(1)
			}
		})
	}

	more := func(r *backend) {
		before, open := calls.Load(), r.connections.Load()
		kit.Wait(t, "calls", func(context.Context) error {
			if n := calls.Load() - before; n < 100 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		t.Logf("%d calls, %d new connections", calls.Load()-before, r.connections.Load()-open)
	}
	more(replicas[0])
	stops[0]()

	if replicas[0].ready.Load() {
		t.Error("the stopped replica is still ready")
	}

	more(replicas[1])
	cancel()
	group.Wait()

	if failed.Load() > 0 || replicas[0].connections.Load() == 0 || replicas[1].connections.Load() == 0 {
		t.Errorf("%d of %d calls failed; connections: %d and %d", failed.Load(), calls.Load(),
			replicas[0].connections.Load(), replicas[1].connections.Load())
	}
}
