package operator

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/prices"
	"github.com/sparkoperator/spark-operator/internal/record/samples"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// priceOf returns the function that finds out what a pod costs; nil without prices.
func priceOf(configured []usage.Price, mgr manager.Manager) func(context.Context, lifecycle.PodUse, time.Time) int64 {
	if len(configured) == 0 {
		return nil
	}
	return prices.New(configured, mgr.GetAPIReader(), mgr.GetLogger().WithName("prices")).Of
}

// samplesOf adds a sampler to the manager, and returns it; nil if no samples are taken.
func samplesOf(cfg config.Usage, mgr manager.Manager) (controller.Samples, error) {
	if !cfg.Samples {
		return nil, nil
	}

	sampler := samples.New(mgr.GetAPIReader(), usage.SampleInterval, mgr.GetLogger().WithName("samples"))
	return sampler, mgr.Add(sampler)
}
