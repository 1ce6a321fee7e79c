package draft_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

// TestDriverMemory compares the driver's memory with the amounts that spark-submit wrote for the same configuration.
func TestDriverMemory(t *testing.T) {
	const heap, factor, overhead = "spark.driver.memory", "spark.driver.memoryOverheadFactor",
		"spark.driver.memoryOverhead"
	for _, c := range []struct {
		name, resource string
		pairs          []string
		want           string
		printed        string
	}{
		{"default", "a.jar", nil, "1408Mi", "0.1"},
		{"1g Java", "a.jar", []string{heap, "1g"}, "1408Mi", "0.1"},
		{"1g Python", "a.py", []string{heap, "1g"}, "1433Mi", "0.4"},
		{"1g R", "a.R", []string{heap, "1g"}, "1433Mi", "0.4"},
		{"3g Python", "a.py", []string{heap, "3g"}, "4300Mi", "0.4"},
		{"1500m and a third", "a.jar", []string{heap, "1500m", factor, "0.333"}, "1999Mi", "0.1"},
		{"10g and a quarter", "a.jar", []string{heap, "10g", factor, "0.25"}, "12800Mi", "0.1"},
		{"9g", "a.jar", []string{heap, "9g"}, "10137Mi", "0.1"},
		{"small minimum", "a.jar", []string{heap, "512m", "spark.driver.minMemoryOverhead", "100m"}, "612Mi", "0.1"},
		{"4g Python with the common factor", "a.py",
			[]string{heap, "4g", "spark.kubernetes.memoryOverheadFactor", "0.10"}, "4505Mi", "0.1"},
		{"fixed overhead overrides the factor", "a.py", []string{heap, "1g", overhead, "1", factor, "0.9"}, "1025Mi",
			"0.4"},
		{"overhead rounds down", "a.jar", []string{heap, "2048m", overhead, "1000k"}, "2048Mi", "0.1"},
		{"deprecated YARN key", "a.jar", []string{heap, "1g", "spark.yarn.driver.memoryOverhead", "1g"}, "2048Mi",
			"0.1"},
		{"factor zero", "a.jar", []string{heap, "8g", "spark.kubernetes.memoryOverheadFactor", "0"}, "8576Mi", "0.0"},
		{"factor one", "a.jar", []string{heap, "1g", "spark.kubernetes.memoryOverheadFactor", "1"}, "2048Mi", "1.0"},
		{"driver's factor and common factor", "a.py",
			[]string{heap, "10g", "spark.kubernetes.memoryOverheadFactor", "0.5", factor, "0.2"}, "12288Mi", "0.5"},
		{"tiny factor", "a.jar", []string{heap, "1g", "spark.kubernetes.memoryOverheadFactor", "0.00001"}, "1408Mi",
			"1.0E-5"},
		{"kilobytes", "a.jar", []string{heap, "1048576k"}, "1408Mi", "0.1"},
		{"terabytes", "a.jar", []string{heap, "1t"}, "1153433Mi", "0.1"},
		{"substituted overhead", "a.jar", []string{heap, "1g", overhead, "${spark.extra}", "spark.extra", "512m"},
			"1536Mi", "0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := kit.With(c.pairs...)
			r.Resource = "local:///" + c.resource
			o := kit.Build(t, r)
			want := resource.MustParse(c.want)

			res := kit.SparkContainer(t, o).Resources
			if got := res.Requests.Memory(); got.Cmp(want) != 0 {
				t.Errorf("request is %s, want %s", got, c.want)
			}

			if got := res.Limits.Memory(); got.Cmp(want) != 0 {
				t.Errorf("limit is %s, want %s", got, c.want)
			}

			if got := kit.Props(t, o)["spark.kubernetes.memoryOverheadFactor"]; got != c.printed {
				t.Errorf("%s=%s, want %s", "spark.kubernetes.memoryOverheadFactor", got, c.printed)
			}
		})
	}
}

func TestMemoryOfTheEnvironment(t *testing.T) {
	r := kit.Minimal()
	r.Environment = map[string]string{"SPARK_DRIVER_MEMORY": "2g", "SPARK_EXECUTOR_MEMORY": "3g",
		"SPARK_EXECUTOR_CORES": "4"}
	r.Conf.Set("spark.executor.cores", "5")
	o := kit.Build(t, r)

	p := kit.Props(t, o)
	if p["spark.driver.memory"] != "2g" || p["spark.executor.memory"] != "3g" || p["spark.executor.cores"] != "5" {
		t.Errorf("properties are %v", p)
	}

	spark := kit.SparkContainer(t, o)
	if got := spark.Resources.Requests.Memory().String(); got != "2432Mi" {
		t.Errorf("request is %s", got)
	}
}
