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
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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
		got, notes := patch(test.object, findings(sampled(100, 333, 200)))
		if diff := cmp.Diff(test.want, got); diff != "" || len(notes) > 0 {
			t.Errorf("%s: %s %q", name, diff, notes)
		}
	}
}

// TestPatchOfMemory checks that the patch grows the heap that the pods had. A driver with 8g in sparkConf or in the
// platform's defaults was killed for its memory, and the patch took Spark's default of 1g instead: it set the typed
// field to 1536m, which has precedence.
func TestPatchOfMemory(t *testing.T) {
	killed := func(requested int64) []finding {
		return findings([]*run.Record{{Reason: lifecycle.ReasonOOMKilled, Driver: run.Pods{Requested: statusv1.UsageRate{MemoryMiB: requested}}}})
	}
	sized := func(size string) map[string]string { return map[string]string{"spark.driver.memory": size} }
	inConf := map[string]any{"sparkConf": map[string]any{"spark.driver.memory": "12287m"}}
	typed := map[string]any{"driver": map[string]any{"memory": "12287m"}}

	application := func(memory *string, own map[string]string) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{SparkConf: own, Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Memory: memory}}}}
	}
	schedule := func(own map[string]string) *v1beta2.ScheduledSparkApplication {
		return &v1beta2.ScheduledSparkApplication{Spec: v1beta2.ScheduledSparkApplicationSpec{Template: application(nil, own).Spec}}
	}
	connect := func(own map[string]string) *v1alpha1.SparkConnect {
		return &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkConf: own}}
	}
	apache := func(own map[string]string) *sparkv1.SparkApplication {
		return &sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{SparkConf: own}}
	}

	for name, test := range map[string]struct {
		object    client.Object
		requested int64
		want      map[string]any // below spec
		note      string
	}{
		"typed field before sparkConf":           {application(new("8g"), sized("2g")), 9011, typed, ""},
		"sparkConf":                              {application(nil, sized("8g")), 9011, inConf, ""},
		"sparkConf of a schedule":                {schedule(sized("8g")), 9011, map[string]any{"template": inConf}, ""},
		"sparkConf of a SparkConnect":            {connect(sized("8g")), 9011, inConf, ""},
		"sparkConf of spark.apache.org":          {apache(sized("8g")), 9011, inConf, ""},
		"platform's defaults":                    {application(nil, nil), 9011, nil, "the platform's defaults; set spec.driver.memory to about 1.50 times"},
		"platform's defaults, schedule":          {schedule(nil), 9011, nil, "the platform's defaults; set spec.template.driver.memory to"},
		"platform's defaults, SparkConnect":      {connect(nil), 9011, nil, "the platform's defaults; set spec.server.memory to"},
		"platform's defaults, spark.apache.org":  {apache(nil), 9011, nil, "the platform's defaults; set spec.sparkConf[spark.driver.memory] to"},
		"Spark's default of a JVM":               {application(nil, nil), 1408, map[string]any{"driver": map[string]any{"memory": "1536m"}}, ""},
		"Spark's default of Python":              {connect(nil), 1433, map[string]any{"server": map[string]any{"memory": "1535m"}}, ""},
		"Spark's default, spark.apache.org":      {apache(nil), 1408, map[string]any{"sparkConf": map[string]any{"spark.driver.memory": "1536m"}}, ""},
		"a reference":                            {apache(sized("${spark.executor.memory}")), 9011, nil, `"${spark.executor.memory}" is not a plain size`},
		"a heap that was changed after the runs": {application(new("12g"), nil), 9011, nil, "was changed since then"},
	} {
		want := map[string]any{}
		if test.want != nil {
			want["spec"] = test.want
		}

		got, notes := patch(test.object, killed(test.requested))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}

		if text := strings.Join(notes, "\n"); !strings.Contains(text, test.note) || (test.note == "") != (text == "") {
			t.Errorf("%s: the notes are %q, want %q", name, text, test.note)
		}
	}
}
