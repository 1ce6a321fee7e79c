package application

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestLeastNumbers checks the least value that each numeric field of an application admits: the value that Spark or
// Kubernetes admits. A piece is an application's spec with %s for the value.
func TestLeastNumbers(t *testing.T) {
	for _, c := range []struct{ piece, least, below, source string }{
		{`memoryOverheadFactor: %s`, `"0"`, `"-0.1"`, "Config.MEMORY_OVERHEAD_FACTOR: mem_overhead >= 0"},
		{`memoryOverheadFactor: %s`, `"0.0"`, `"-0"`, "the same"},
		{`driver: {coreRequest: %s}`, `"0"`, `"-1"`, "Kubernetes: a request of 0 or more"},
		{`driver: {coreRequest: %s}`, `"0m"`, `"-1m"`, "the same"},
		{`executor: {coreRequest: %s}`, `"0"`, `"-1"`, "the same"},
		{`driver: {coreRequest: "0", coreLimit: %s}`, `"0"`, `"-1"`, "Kubernetes: a limit of at least the request"},
		{`executor: {coreRequest: "0", coreLimit: %s}`, `"0"`, `"-1"`, "the same"},
		{`driver: {coreLimit: %s}`, `"1"`, `"0"`, "the same, and the request is cores"},
		{`executor: {coreLimit: %s}`, `"1"`, `"0"`, "the same"},
		{`driver: {cores: %s}`, `1`, `0`, "SparkSubmitArguments: Driver cores must be a positive number"},
		{`executor: {cores: %s}`, `1`, `0`, "SparkSubmitArguments: Executor cores must be a positive number"},
		{`driver: {memory: %s}`, `1k`, `0m`, "SparkSubmitArguments: Driver memory must be a positive number"},
		{`executor: {memory: %s}`, `1m`, `0m`, "SparkSubmitArguments: Executor memory must be a positive number"},
		{`driver: {memoryOverhead: %s}`, `"0"`, `"-1"`, "bytesConf without a check, but no negative size can be read"},
		{`executor: {memoryOverhead: %s}`, `"0"`, `"-1"`, "the same"},
		{`executor: {instances: %s}`, `1`, `0`, "SparkSubmitArguments: Number of executors must be a positive number"},
		{`dynamicAllocation: {enabled: true}, executor: {instances: %s}`, `0`, `-1`,
			"the same check, only without dynamic allocation"},
		{`sparkConf: {spark.dynamicAllocation.enabled: "true"}, executor: {instances: %s}`, `0`, `-1`, "the same"},
		{`dynamicAllocation: {enabled: true, minExecutors: %s}`, `0`, `-1`,
			"ExecutorAllocationManager.validateSettings"},
		{`dynamicAllocation: {enabled: true, maxExecutors: %s}, executor: {instances: null}`, `1`, `0`, "the same"},
		{`dynamicAllocation: {enabled: true, initialExecutors: %s}`, `-1`, ``,
			"SchedulerBackendUtils: the maximum of three numbers counts"},
		{`restartPolicy: {type: OnFailure, onFailureRetries: %s}`, `0`, `-1`, "a count"},
		{`restartPolicy: {type: OnFailure, onFailureRetryInterval: %s}`, `1`, `0`, "the peer's definition"},
		{`timeouts: {runSeconds: %s}`, `0`, `-1`, "0 is no limit"},
		{`timeToLiveSeconds: %s`, `-1`, ``, "the peer deletes at once for 0 and less"},
		{`driver: {terminationGracePeriodSeconds: %s}`, `0`, ``, "Kubernetes"},
		{`sparkConf: {spark.kubernetes.driver.request.cores: %s}`, `"0"`, `"-1"`, "Kubernetes"},
		{`sparkConf: {spark.kubernetes.memoryOverheadFactor: %s}`, `"0"`, `"-1"`, "Config.MEMORY_OVERHEAD_FACTOR"},
		{`sparkConf: {spark.driver.memoryOverheadFactor: %s}`, `"0.01"`, `"0"`,
			"DRIVER_MEMORY_OVERHEAD_FACTOR: factor > 0"},
		{`batchScheduler: volcano, batchSchedulerOptions: {resources: {cpu: %s}}`, `"0"`, ``, "Kubernetes"},
	} {
		refused := func(value string) string {
			app := sparkapp.Of(t, fmt.Sprintf("spec: {"+c.piece+"}", value))
			if errs := admission.Faults(t, "sparkoperator.k8s.io_sparkapplications.yaml", "v1beta2", app); len(errs) > 0 {
				return errs.ToAggregate().Error()
			}

			if faults := usual.Review(app, sparkapp.T0).Faults; len(faults) > 0 {
				return faults[0].Error()
			}
			return ""
		}
		if why := refused(c.least); why != "" {
			t.Errorf("%s, %s, is refused: %s; the bound is of %s", c.piece, c.least, why, c.source)
		}

		if c.below != "" && refused(c.below) == "" {
			t.Errorf("%s, %s, is accepted; the bound is of %s", c.piece, c.below, c.source)
		}
	}
}

// minima are the fields whose least value in a definition is above 0, with the source of the bound. A pattern for the
// text of a quantity admits 0, except for memory, of which Spark and Kubernetes need more.
var minima = map[string]string{
	"driver.cores":   "SparkSubmitArguments",
	"executor.cores": "SparkSubmitArguments",
	"server.cores":   "SparkSubmitArguments",
	"restartPolicy.onSubmissionFailureRetryInterval": "the peer's definition",
	"restartPolicy.onFailureRetryInterval":           "the peer's definition",
	"restartPolicy.backoff.factor":                   "an interval does not shrink",
	"restartPolicy.backoff.maxSeconds":               "like the intervals",
	"monitoring.prometheus.port":                     "the peer's definition",
	"route.parentRefs.port":                          "Gateway API: a port from 1 on",
}

// TestMinimaHaveASource walks all definitions and finds minima above 0 that are not in the table.
func TestMinimaHaveASource(t *testing.T) {
	files, err := filepath.Glob("../../../../config/crd/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}

	met := map[string]bool{}
	var walk func(path []string, node any)

	walk = func(path []string, node any) {
		fields, _ := node.(map[string]any)
		if least, ok := fields["minimum"].(float64); ok && least > 0 {
			name := strings.Join(path, ".")

			known := false
			for field := range minima {
				if strings.HasSuffix("."+name, "."+field) {
					known, met[field] = true, true
				}
			}

			if !known {
				t.Errorf("%s: the minimum %v has no source", name, least)
			}
		}

		for key, child := range fields {
			switch key {
			case "properties":
				for name, property := range child.(map[string]any) {
					walk(append(slices.Clone(path), name), property)
				}
			case "items", "additionalProperties", "openAPIV3Schema", "schema":
				walk(path, child)
			case "spec", "versions":
				walk(path, child)

				if list, ok := child.([]any); ok {
					for _, version := range list {
						walk(path, version)
					}
				}
			}
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)

		var tree map[string]any
		if err == nil {
			err = yaml.Unmarshal(text, &tree)
		}

		if err != nil {
			t.Fatal(err)
		}

		walk(nil, tree)
	}

	if len(met) != len(minima) {
		t.Errorf("definitions have the minima %v; the table has %d", met, len(minima))
	}
}
