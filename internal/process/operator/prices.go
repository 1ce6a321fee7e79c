package operator

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
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

// samplesOf adds a sampler to the manager, and returns the function that takes its samples; nil if none are taken.
func samplesOf(cfg config.Usage, mgr manager.Manager) (func(client.Object, int32) (driver, executors statusv1.UsageSamples), error) {
	if !cfg.Samples {
		return nil, nil
	}

	sampler := samples.New(mgr.GetAPIReader(), usage.SampleInterval, mgr.GetLogger().WithName("samples"))
	return sampler.Of, mgr.Add(sampler)
}
