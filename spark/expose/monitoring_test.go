package expose

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func TestMetricsConfigMap(t *testing.T) {
	m := Metrics{
		Meta: Meta{
			Namespace: "jobs", Name: "pi-prom-conf", Labels: map[string]string{"app": "pi"},
			Owner: metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: types.UID("u"),
				Controller: new(true)},
		},
		Files: map[string]string{"a": "b"},
	}
	config := MetricsConfigMap(m)

	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}

	var got, want any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}

	if err := yaml.Unmarshal([]byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: pi-prom-conf
  namespace: jobs
  labels: {app: pi}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
data: {a: b}
`), &want); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	config.Data["a"], config.Labels["app"] = "x", "x"
	if m.Files["a"] != "b" || m.Labels["app"] != "pi" {
		t.Error("the ConfigMap shares what it was made of")
	}

	if m.Owner.UID = ""; len(MetricsConfigMap(m).OwnerReferences) > 0 {
		t.Error("without an owner nothing is owned")
	}
}

// TestMetricsProperties checks that each line is a comment or a key with a value, and that the keys are the expected
// ones.
func TestMetricsProperties(t *testing.T) {
	got := map[string]string{}
	for line := range strings.Lines(MetricsProperties) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			got[key] = value
		}
	}

	if diff := cmp.Diff(map[string]string{
		"*.sink.jmx.class":          "org.apache.spark.metrics.sink.JmxSink",
		"driver.source.jvm.class":   "org.apache.spark.metrics.source.JvmSource",
		"executor.source.jvm.class": "org.apache.spark.metrics.source.JvmSource",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// agentRules is the part of the JMX exporter's configuration that AgentConfig uses.
type agentRules struct {
	LowercaseOutputName bool `json:"lowercaseOutputName"`
	Rules               []struct {
		Pattern string            `json:"pattern"`
		Name    string            `json:"name"`
		Type    string            `json:"type"`
		Labels  map[string]string `json:"labels"`
	} `json:"rules"`
}

// notOfAName matches the characters that the exporter replaces in the names of metrics.
var notOfAName = regexp.MustCompile(`[^a-zA-Z0-9_]+`)

// shown returns the metric that the exporter creates from an attribute of a bean. The result `metric` has the form
// "TYPE NAME", and the result `labels` contains the metric's labels. The first matching rule applies. If no rule
// matches, the result `metric` is empty.
func (a agentRules) shown(t *testing.T, bean string) (metric string, labels map[string]string) {
	t.Helper()

	for _, rule := range a.Rules {
		pattern := regexp.MustCompile(`^.*(?:` + rule.Pattern + `).*$`)

		at := pattern.FindStringSubmatchIndex(bean)
		if at == nil {
			continue
		}

		fill := func(text string) string {
			// In Go, "$3_" refers to a group named "3_"; in Java, it refers to the group 3.
			text = regexp.MustCompile(`\$([0-9])`).ReplaceAllString(text, "$${$1}")
			return string(pattern.ExpandString(nil, text, bean, at))
		}

		metric, labels = notOfAName.ReplaceAllString(fill(rule.Name), "_"), map[string]string{}
		for key, value := range rule.Labels {
			labels[key] = fill(value)
		}

		if a.LowercaseOutputName {
			metric = strings.ToLower(metric)
		}
		return rule.Type + " " + metric, labels
	}
	return "", nil
}

// TestAgentConfig checks which metrics the exporter makes from the beans of Spark 4.1 (JmxReporter of Dropwizard 4).
// The expected metrics are those that exporter 1.0 made from these beans in a real run. Some expected names contain
// _type_. These names come from the kubeflow operator's rules, and existing dashboards use them.
func TestAgentConfig(t *testing.T) {
	var rules agentRules
	if err := yaml.UnmarshalStrict([]byte(AgentConfig), &rules); err != nil {
		t.Fatal(err)
	}

	driver := map[string]string{"app_namespace": "jobs", "app_id": "pi"}
	driverAnd := func(more ...string) map[string]string {
		labels := maps.Clone(driver)
		labels[more[0]] = more[1]
		return labels
	}

	executor := driverAnd("executor_id", "1")
	for _, test := range []struct {
		bean, want string
		labels     map[string]string
	}{
		{"jobs.pi.driver.BlockManager.memory.maxMem_MB, type=gauges><>Value",
			"GAUGE spark_driver_blockmanager_memory_maxmem_mb", driver},
		// Names of Spark 2 have no type.
		{"jobs.pi.driver.BlockManager.memory.maxMem_MB><>Value", "GAUGE spark_driver_blockmanager_memory_maxmem_mb",
			driver},
		{"jobs.pi.driver.DAGScheduler.stage.failedStages, type=gauges><>Value",
			"GAUGE spark_driver_dagscheduler_stage_failedstages", driver},
		{"jobs.pi.driver.jvm.pools.G1-Eden-Space.used-after-gc, type=gauges><>Value",
			"GAUGE spark_driver_jvm_pools_g1_eden_space_used_after_gc", driver},
		{"jobs.pi.driver.job.StreamingMetrics.streaming.lastCompletedBatch_processingDelay, type=gauges><>Value",
			"GAUGE spark_streaming_driver_lastcompletedbatch_processingdelay", driver},
		{"jobs.pi.driver.spark.streaming.orders by hour.inputRate-total, type=gauges><>Value",
			"GAUGE spark_structured_streaming_driver_inputrate_total", driverAnd("query_name", "orders by hour")},
		{"jobs.pi.1.executor.threadpool.activeTasks, type=gauges><>Value",
			"GAUGE spark_executor_threadpool_activetasks", executor},
		{"jobs.pi.1.executor.bytesRead, type=counters><>Count", "COUNTER spark_executor_bytesread_type_counters_count",
			executor},
		{"jobs.pi.driver.executor.runTime, type=counters><>Count", "COUNTER spark_executor_runtime_type_counters_count",
			driverAnd("executor_id", "driver")},
		{"jobs.pi.driver.DAGScheduler.messageProcessingTime, type=timers><>Count",
			"COUNTER spark_driver_dagscheduler_messageprocessingtime_type_timers_count", driver},
		{"jobs.pi.driver.HiveExternalCatalog.fileCacheHits, type=counters><>Count",
			"COUNTER spark_driver_hiveexternalcatalog_filecachehits_type_counters_count", driver},
		{"jobs.pi.driver.CodeGenerator.sourceCodeSize, type=histograms><>Count",
			"COUNTER spark_driver_codegenerator_sourcecodesize_type_histograms_count", driver},
		{"jobs.pi.driver.LiveListenerBus.queue.shared.numDroppedEvents, type=counters><>Count",
			"COUNTER spark_driver_livelistenerbus_queue_shared_numdroppedevents_type_counters_count", driver},
		{"jobs.pi.driver.LiveListenerBus.queue.shared.size, type=gauges><>Value",
			"GAUGE spark_driver_livelistenerbus_queue_shared_size_type_gauges", driver},
		{"jobs.pi.1.jvm.heap.used, type=gauges><>Value", "GAUGE spark_executor_jvm_heap_used_type_gauges", executor},
		{"jobs.pi.1.NettyBlockTransfer.shuffle-client.usedHeapMemory, type=gauges><>Value",
			"GAUGE spark_executor_nettyblocktransfer_shuffle_client_usedheapmemory_type_gauges", executor},
		{"jobs.pi.1.HiveExternalCatalog.filesDiscovered, type=counters><>Count",
			"COUNTER spark_executor_hiveexternalcatalog_filesdiscovered_type_counters_count", executor},
		{"jobs.pi.1.CodeGenerator.compilationTime, type=histograms><>Count",
			"COUNTER spark_executor_codegenerator_compilationtime_type_histograms_count", executor},

		{"jobs.pi.driver.DAGScheduler.messageProcessingTime, type=timers><>Mean", "", nil},
		{"jobs.pi.1.ExecutorMetrics.JVMHeapMemory, type=gauges><>Value", "", nil},
		{"jobs.pi.applicationMaster.numExecutorsFailed, type=gauges><>Value", "", nil},
	} {
		name, labels := rules.shown(t, "metrics<name="+test.bean)
		if name != test.want {
			t.Errorf("%s is shown as %q, want %q", test.bean, name, test.want)
		}

		if diff := cmp.Diff(test.labels, labels); diff != "" {
			t.Errorf("labels of %s: -want +got:\n%s", test.bean, diff)
		}
	}

	if name, _ := rules.shown(t, "java.lang<type=Memory><HeapMemoryUsage>used"); name != "" {
		t.Errorf("a bean that is not Spark's is shown as %q", name)
	}
}

// TestAgentRulesAreUsed checks that each rule uses all groups of its pattern, and that the labels of all rules are the
// expected ones.
func TestAgentRulesAreUsed(t *testing.T) {
	var rules agentRules
	if err := yaml.UnmarshalStrict([]byte(AgentConfig), &rules); err != nil {
		t.Fatal(err)
	}

	seen := map[string]bool{}
	for _, rule := range rules.Rules {
		used := rule.Name
		for _, key := range slices.Sorted(maps.Keys(rule.Labels)) {
			used += rule.Labels[key]
			seen[key] = true
		}

		for group := range regexp.MustCompile(rule.Pattern).NumSubexp() {
			if place := "$" + string(rune('1'+group)); !strings.Contains(used, place) {
				t.Errorf("%s: group %s is in neither name nor labels", rule.Pattern, place)
			}
		}
	}

	if want := []string{"app_id", "app_namespace", "executor_id",
		"query_name"}; !slices.Equal(slices.Sorted(maps.Keys(seen)), want) {
		t.Errorf("labels are %v, want %v", slices.Sorted(maps.Keys(seen)), want)
	}
}
