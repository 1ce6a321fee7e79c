package telemetry

import "github.com/prometheus/client_golang/prometheus"

// RegisterShards registers how many shards there are, and how many of them are this replica's at a time, which are told only where the work is shared. The set
// is told apart from other installations' by the name of its lock, as leader_election_master_status tells leaders apart.
func RegisterShards(reg prometheus.Registerer, set string, all int, owned func() int) {
	gauge := func(name, help string, value func() int) {
		register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"name": set}}, func() float64 { return float64(value()) }))
	}
	gauge("sparkoperator_shards", "Shards into which the custom resources are dealt.", func() int { return all })
	gauge("sparkoperator_shards_owned", "Shards whose custom resources this replica acts on now.", owned)
}
