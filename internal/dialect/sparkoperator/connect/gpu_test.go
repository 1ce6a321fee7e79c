package connect

import (
	"slices"
	"strings"
	"testing"
)

// TestExecutorsGetTheirGPUs checks that spec.executor.gpu becomes Spark's keys and the limit of the executors.
func TestExecutorsGetTheirGPUs(t *testing.T) {
	const script = `sparkConf: {spark.executor.resource.gpu.discoveryScript: /opt/gpus.sh, spark.executor.resource.gpu.amount: "1"}`
	for _, c := range []struct {
		gpu, limit, wrong, warning string
	}{
		{gpu: `{name: nvidia.com/gpu, quantity: 2}`, limit: "2"},
		{gpu: `{name: nvidia.com/gpu, quantity: 0}`, wrong: "spark.executor.resource.gpu.vendor"},
		{gpu: `{name: gpu, quantity: 1}`, wrong: "spec.executor.gpu.name"},
		{gpu: `{name: nvidia.com/mig-1g.5gb, quantity: 1}`, wrong: "spec.executor.gpu.name"},
		{gpu: `{name: amd.com/xpu, quantity: 1}`, warning: "spark.executor.resource.xpu.discoveryScript"},
	} {
		sc := connectOf(t, script, `executor: {gpu: `+c.gpu+`}`)
		if c.warning != "" {
			sc = connectOf(t, `executor: {gpu: `+c.gpu+`}`)
		}

		review := (Connects{}).Review(sc)
		if c.wrong != "" {
			if len(review.Faults) == 0 || !strings.Contains(review.Faults[0].Error(), c.wrong) {
				t.Errorf("%s: %v, want a fault of %s", c.gpu, review.Faults, c.wrong)
			}
			continue
		}

		if len(review.Faults) > 0 ||
			slices.ContainsFunc(review.Warnings,
				func(w string) bool { return strings.Contains(w, "discoveryScript") }) != (c.warning != "") {
			t.Errorf("%s: faults %v, warnings %v", c.gpu, review.Faults, review.Warnings)
			continue
		}

		for _, pods := range review.Pods() {
			if pods.Role != "executor" {
				continue
			}

			spark := pods.Pod.Spec.Containers[len(pods.Pod.Spec.Containers)-1]
			if got := spark.Resources.Limits["nvidia.com/gpu"]; c.limit != "" && got.String() != c.limit {
				t.Errorf("%s: the executors' limits are %v", c.gpu, spark.Resources.Limits)
			}
		}
	}
}
