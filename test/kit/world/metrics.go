package world

import (
	"context"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/sparkoperator/spark-operator/test/kit"
)

// Want returns an error if two values differ.
func Want[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// Metric returns the sum of a metric over all its labels. For a histogram it counts the observations.
func (w *World) Metric(name string) float64 {
	w.T.Helper()
	return w.MetricWhere(name, func([]*dto.LabelPair) bool { return true })
}

// MetricOf returns the sum of a metric over those samples whose given label has the given value.
func (w *World) MetricOf(name, label, value string) float64 {
	w.T.Helper()
	return w.MetricWhere(name, func(labels []*dto.LabelPair) bool {
		return slices.ContainsFunc(labels, func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() == value })
	})
}

// MetricWhere returns the sum of the samples of a metric whose labels the function counts accepts.
func (w *World) MetricWhere(name string, counts func([]*dto.LabelPair) bool) (sum float64) {
	w.T.Helper()

	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}

	for _, family := range families {
		if family.GetName() != name {
			continue
		}

		for _, m := range family.GetMetric() {
			if counts(m.GetLabel()) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// WaitMetric waits until a metric has the wanted value. Tests have to wait, since the operator updates its metrics only
// after it has stored the status.
func (w *World) WaitMetric(name string, want float64) {
	w.T.Helper()
	kit.Wait(w.T, name, func(context.Context) error {
		if got := w.Metric(name); got != want {
			return fmt.Errorf("%s is %v, want %v", name, got, want)
		}
		return nil
	})
}
