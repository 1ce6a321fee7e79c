package controller

import (
	"context"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// TestWatchesHaveConnectionsOfTheirOwn counts the connections that a cache of several kinds makes; and holds that a way of dialling that was given is kept.
func TestWatchesHaveConnectionsOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	rc := testkit.Rest(t)
	dialled := make(chan struct{}, 100)
	rc.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled <- struct{}{}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	watched, err := newCache(rc, cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watched.Start(ctx) }()
	kinds := []client.Object{&corev1.Pod{}, &corev1.Service{}, &corev1.ConfigMap{}}
	for _, object := range kinds {
		if _, err := watched.GetInformer(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(dialled); n < len(kinds) {
		t.Errorf("%d connections for %d watches", n, len(kinds))
	}
	end()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
