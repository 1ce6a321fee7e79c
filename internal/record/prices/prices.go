// Package prices finds out what a pod costs, by the labels of its node.
package prices

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// listInterval is the shortest time between two lists of the nodes.
	listInterval = time.Minute
	// listTimeout bounds a list, for which a pass waits.
	listTimeout = 3 * time.Second
	// pageSize is the number of nodes that are in memory at once.
	pageSize = 500
	// keptFor is how long the price of a deleted node applies. A pod that ended on it is counted a last time when the next
	// status is written, and its whole time counts then.
	keptFor = time.Hour
)

// Prices finds out what pods cost. The method Of may be called concurrently.
type Prices struct {
	prices []usage.Price
	reader client.Reader // reads the API server
	log    logr.Logger

	mu     sync.Mutex
	nodes  map[string]nodePrice // by the name of the node
	listed time.Time
}

// nodePrice is the price that applies to a node.
type nodePrice struct {
	*usage.Price           // nil: no price applies
	missed       time.Time // when a list lacked the node for the first time; zero if none did
}

// New returns the prices of a configuration. If none of them depends on a node, no node is ever read.
func New(prices []usage.Price, reader client.Reader, log logr.Logger) *Prices {
	return &Prices{prices: prices, reader: reader, log: log}
}

// Of returns what a second of a pod costs, in billionths of the currency. If the pod's node is unknown, it lists the
// nodes, at most once a minute. Until then, the prices for all nodes apply.
func (p *Prices) Of(ctx context.Context, pod lifecycle.PodUse, now time.Time) int64 {
	price := p.byNode(ctx, pod.Node, now)
	if price == nil {
		return 0
	}
	return price.Nanos(pod.Requests)
}

func (p *Prices) byNode(ctx context.Context, node string, now time.Time) *usage.Price {
	everywhere := usage.PriceOf(p.prices, nil)
	if !slices.ContainsFunc(p.prices, func(price usage.Price) bool { return len(price.NodeSelector) > 0 }) || node == "" {
		return everywhere
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	if _, known := p.nodes[node]; !known && now.Sub(p.listed) >= listInterval {
		p.listed = now

		if err := p.list(ctx, now); err != nil {
			p.log.Info("could not read the labels of nodes, on which prices depend; the prices for all nodes apply", "cause", err.Error())
		}
	}

	if of, known := p.nodes[node]; known {
		return of.Price
	}
	return everywhere
}

// list reads the labels of all nodes. The caller holds the lock.
func (p *Prices) list(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	found := map[string]nodePrice{}

	page := metav1.PartialObjectMetadataList{}
	for {
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))

		if err := p.reader.List(ctx, &page, client.Limit(pageSize), client.Continue(page.Continue)); err != nil {
			return err
		}

		for i := range page.Items {
			found[page.Items[i].Name] = nodePrice{Price: usage.PriceOf(p.prices, page.Items[i].Labels)}
		}

		if page.Continue == "" {
			break
		}
	}

	for name, of := range p.nodes {
		if of.missed.IsZero() {
			of.missed = now
		}

		if _, exists := found[name]; !exists && now.Sub(of.missed) < keptFor {
			found[name] = of
		}
	}

	p.nodes = found
	return nil
}
