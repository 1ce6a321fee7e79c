package usage

import (
	"math"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestPrices checks what an hour of requests costs on nodes with different labels.
func TestPrices(t *testing.T) {
	t.Parallel()

	prices := []Price{
		{CPUHour: 0.048, MemoryGiBHour: 0.006},
		{NodeSelector: map[string]string{"pool": "gpu"}, CPUHour: 0.1, GPUHour: 2.5},
		{NodeSelector: map[string]string{"pool": "gpu", "spot": "true"}, GPUHour: 1},
	}
	requests := lifecycle.Requests{MilliCPU: 4000, MiB: 8192, GPUs: 2}

	for name, test := range map[string]struct {
		labels map[string]string
		want   float64
	}{
		"no labels":     {nil, 4*0.048 + 8*0.006},
		"other labels":  {map[string]string{"pool": "general", "spot": "true"}, 4*0.048 + 8*0.006},
		"GPU":           {map[string]string{"pool": "gpu", "spot": "false"}, 4*0.1 + 2*2.5},
		"GPU, discount": {map[string]string{"pool": "gpu", "spot": "true"}, 2},
	} {
		if got := float64(PriceOf(prices, test.labels).Nanos(requests)) * 3600 / 1e9; math.Abs(got-test.want) > 1e-5 {
			t.Errorf("%s: an hour costs %v, want %v", name, got, test.want)
		}
	}

	if price := PriceOf(prices[1:], nil); price != nil {
		t.Errorf("a node without labels has the price %+v", price)
	}

	if got := (&Price{CPUHour: MaxPrice, MemoryGiBHour: MaxPrice, GPUHour: MaxPrice}).Nanos(lifecycle.Requests{MilliCPU: 1 << 40, MiB: 1 << 40, GPUs: 1 << 40}); got < 0 || got > limit {
		t.Errorf("the highest price is %d", got)
	}
}
