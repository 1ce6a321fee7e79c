package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/record/run"
)

// sampled returns runs whose driver requested 2 CPU and 1,000 MiB. Each number is the mean of the CPU that it used in
// a run, in thousandths of a CPU, with two samples of a minute; 0 is a run without samples.
func sampled(used ...int64) (runs []*run.Record) {
	for _, mean := range used {
		pods := run.Pods{Requested: statusv1.UsageRate{CPUMillicores: 2000, MemoryMiB: 1000}}
		if mean > 0 {
			pods.Sampled = statusv1.UsageSamples{Count: 2, PeakMemoryMiB: 700, CPUMillicoreSeconds: 2 * 60 * mean}
		}

		runs = append(runs, &run.Record{Driver: pods})
	}
	return runs
}

// TestAdviceAboutCPU checks the proposed request of CPU, and the sentence about it.
func TestAdviceAboutCPU(t *testing.T) {
	for name, test := range map[string]struct {
		runs     []*run.Record
		proposed int64
		says     string
	}{
		"idle":                {sampled(100, 333, 200), 500, "used at most 333m on average in the samples of 3 runs; request about 500m"},
		"idle in two runs":    {sampled(100, 0, 200, 0), 0, "that fits"},
		"idle but once":       {sampled(100, 100, 100, 1100), 0, "used at most 1100m on average in the samples of 4 runs; that fits"},
		"busy":                {sampled(1900), 0, "the pods are busy, so more cores may make the run faster"},
		"hardly any":          {sampled(1, 1, 1), 50, "request about 50m"},
		"without samples":     {sampled(0, 0), 0, ""},
		"without any request": {[]*run.Record{{Driver: run.Pods{Sampled: statusv1.UsageSamples{Count: 1}}}}, 0, ""},
	} {
		got := findings(test.runs)[0]
		if got.cpuProposed != test.proposed || !strings.Contains(got.cpu(), test.says) || (test.says == "") != (got.cpu() == "") {
			t.Errorf("%s: %dm, %q; want %dm, %q", name, got.cpuProposed, got.cpu(), test.proposed, test.says)
		}
	}
}

// TestPatchOfCPU checks that the patch of each kind sets the field that the kind has for the requested CPU, and leaves
// the memory out if that fits.
func TestPatchOfCPU(t *testing.T) {
	key := map[string]any{"spec": map[string]any{"sparkConf": map[string]any{"spark.kubernetes.driver.request.cores": "500m"}}}

	typed := map[string]any{"driver": map[string]any{"coreRequest": "500m"}}
	for name, test := range map[string]struct {
		object client.Object
		want   map[string]any
	}{
		"SparkApplication":          {&v1beta2.SparkApplication{}, map[string]any{"spec": typed}},
		"ScheduledSparkApplication": {&v1beta2.ScheduledSparkApplication{}, map[string]any{"spec": map[string]any{"template": typed}}},
		"SparkConnect":              {&v1alpha1.SparkConnect{}, key},
		"of spark.apache.org":       {&sparkv1.SparkApplication{}, key},
	} {
		if diff := cmp.Diff(test.want, patch(test.object, findings(sampled(100, 333, 200)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
