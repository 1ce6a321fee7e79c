package usage

import (
	"math"
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Price is what an hour of requested resources costs, in any currency.
type Price struct {
	// NodeSelector restricts the price to pods on nodes with these labels. Default: pods on all nodes.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// CPUHour is the price of a CPU for an hour. Default 0.
	CPUHour float64 `json:"cpuHour,omitempty"`
	// MemoryGiBHour is the price of a GiB of memory for an hour. Default 0.
	MemoryGiBHour float64 `json:"memoryGiBHour,omitempty"`
	// GPUHour is the price of a GPU for an hour. Default 0.
	GPUHour float64 `json:"gpuHour,omitempty"`
}

// MaxPrice is the highest valid price of an hour.
const MaxPrice = 1e6

// nanosPerSecond converts a price of an hour into billionths a second.
const nanosPerSecond = 1e9 / 3600

// Nanos returns what a second of the requests costs, in billionths.
func (p *Price) Nanos(r lifecycle.Requests) int64 {
	hour := float64(r.MilliCPU)/1000*p.CPUHour + float64(r.MiB)/1024*p.MemoryGiBHour + float64(r.GPUs)*p.GPUHour
	return within(int64(math.Round(min(hour*nanosPerSecond, limit))))
}

// PriceOf returns the last price that applies to a node with the given labels; nil if there is none.
func PriceOf(prices []Price, labels map[string]string) *Price {
	for i := range slices.Backward(prices) {
		if prices[i].selects(labels) {
			return &prices[i]
		}
	}
	return nil
}

func (p *Price) selects(labels map[string]string) bool {
	for key, value := range p.NodeSelector {
		if got, set := labels[key]; !set || got != value {
			return false
		}
	}
	return true
}
