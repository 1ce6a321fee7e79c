package prices_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/prices"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// counted counts the lists of a reader.
type counted struct {
	client.Reader
	lists int
}

func (c *counted) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, options...)
}

// TestPricesByNode checks prices that depend on the labels of nodes: the nodes are listed when a pod is on an unknown
// node, at most once a minute, and never if no price depends on them.
func TestPricesByNode(t *testing.T) {
	t.Parallel()

	api := kit.Client(t)
	node := func(name string) {
		t.Helper()

		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test/pool": "gpu"}}}
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = api.Delete(context.WithoutCancel(t.Context()), object) })
	}
	node("prices-a")

	reader := &counted{Reader: api}
	p := prices.New([]usage.Price{{CPUHour: 1}, {NodeSelector: map[string]string{"test/pool": "gpu"}, CPUHour: 3}}, reader, testr.New(t))

	hour := func(of *prices.Prices, node string, second int64) float64 {
		nanos := of.Of(t.Context(), lifecycle.PodUse{Node: node, Requests: lifecycle.Requests{MilliCPU: 1000}}, time.Unix(second, 0))
		return math.Round(float64(nanos) * 3600 / 1e9)
	}
	for i, step := range []struct {
		node   string
		second int64
		price  float64
		lists  int
	}{{"", 1000, 1, 0}, {"prices-a", 1000, 3, 1}, {"prices-a", 1001, 3, 1}, {"prices-b", 1030, 1, 1}, {"prices-b", 1061, 3, 2}, {"prices-b", 1200, 3, 2}, {"no-node", 1201, 1, 3}} {
		if i == 3 {
			node("prices-b")
		}

		if got := hour(p, step.node, step.second); got != step.price || reader.lists != step.lists {
			t.Errorf("step %d: node %q has the price %v after %d lists, want %v after %d", i, step.node, got, reader.lists, step.price, step.lists)
		}
	}

	// The cluster autoscaler deletes a node, and the last pods on it are counted a little later.
	if err := api.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "prices-a"}}); err != nil {
		t.Fatal(err)
	}

	node("prices-c")

	for i, step := range []struct {
		node   string
		second int64
		price  float64
	}{{"prices-c", 20000, 3}, {"prices-a", 20000, 3}, {"no-node", 20100, 1}, {"prices-a", 20100, 3}, {"no-node", 29000, 1}, {"prices-a", 29001, 1}} {
		if got := hour(p, step.node, step.second); got != step.price {
			t.Errorf("step %d after the deletion: node %q has the price %v, want %v", i, step.node, got, step.price)
		}
	}

	everywhere := &counted{Reader: api}
	if got := hour(prices.New([]usage.Price{{CPUHour: 2}}, everywhere, testr.New(t)), "prices-a", 1000); got != 2 || everywhere.lists != 0 {
		t.Errorf("without labels: the price %v after %d lists", got, everywhere.lists)
	}

	powerless := prices.New([]usage.Price{{CPUHour: 2}, {NodeSelector: map[string]string{"test/pool": "gpu"}}}, scene.New(t).Powerless(), testr.New(t))
	if got := hour(powerless, "prices-a", 1000); got != 2 {
		t.Errorf("without the right to list nodes the price is %v", got)
	}
}
