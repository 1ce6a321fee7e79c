package config

import (
	"maps"
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
)

// Usage configures what the operator finds out about the usage of pods, besides their requests.
type Usage struct {
	// Samples takes samples of the used CPU and memory: a list of the metrics API (metrics.k8s.io) each minute for each
	// namespace with running applications or Connect servers. The operator needs the right to list pods of that API.
	// Default false.
	Samples bool `json:"samples,omitempty"`
}

func validatePrices(prices []usage.Price) (errs field.ErrorList) {
	for i := range prices {
		path, price := field.NewPath("prices").Index(i), &prices[i]

		amounts := map[string]float64{"cpuHour": price.CPUHour, "memoryGiBHour": price.MemoryGiBHour, "gpuHour": price.GPUHour}
		for _, name := range slices.Sorted(maps.Keys(amounts)) {
			if amount := amounts[name]; !(amount >= 0 && amount <= usage.MaxPrice) {
				errs = append(errs, field.Invalid(path.Child(name), amount, "must be a price of at least 0 and at most 1000000, such as 0.048"))
			}
		}

		errs = append(errs, metav1validation.ValidateLabels(price.NodeSelector, path.Child("nodeSelector"))...)
	}
	return errs
}
