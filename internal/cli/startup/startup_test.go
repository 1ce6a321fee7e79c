package startup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// at returns a time of the tests.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 28, 19, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// TestSteps checks the parts of a start with and without a queue and the times of Spark.
func TestSteps(t *testing.T) {
	pods := func(seconds float64) *metav1.Time { return &metav1.Time{Time: at(seconds)} }
	waited := func(seconds float64, attempt int32) statusv1.OperatorTransition {
		return statusv1.OperatorTransition{At: &metav1.MicroTime{Time: at(seconds)}, Attempt: attempt, Reason: lifecycle.ReasonQuotaPending}
	}
	whole := &statusv1.OperatorStart{Attempt: 2, DriverCreated: pods(0), DriverScheduled: pods(0), DriverStarted: pods(1),
		ExecutorCreated: pods(8), ExecutorScheduled: pods(8), ExecutorStarted: pods(9)}

	const first, second = "driver's node 0s, volumes and image 1s, ", "executor's node 0s, volumes and image 1s"

	for name, test := range map[string]struct {
		start   *statusv1.OperatorStart
		spark   *Times
		history []statusv1.OperatorTransition
		want    string
	}{
		"nothing":   {},
		"pods only": {start: whole, want: first + "SparkContext 7s, " + second},
		"all": {start: whole, spark: &Times{at(4.2), at(14.3), at(14.9)},
			want: first + "JVM 3.2s, SparkContext 3.8s, " + second + ", executor's JVM 5.3s, first task 600ms"},
		"no executor yet": {start: &statusv1.OperatorStart{Attempt: 1, DriverCreated: pods(0), DriverStarted: pods(3)},
			spark: &Times{ContextBegan: at(6)}, want: "volumes and image 3s, JVM 3s"},
		"an executor that the pod's rounded time makes earlier": {start: whole, spark: &Times{at(4), at(8.9), at(10)},
			want: first + "JVM 3s, SparkContext 4s, " + second + ", executor's JVM 0s, first task 1.1s"},
		"a queue": {start: whole, history: []statusv1.OperatorTransition{waited(-90, 1), waited(-30, 2), waited(-20, 2), waited(99, 2)},
			want: "queue 30s, " + first + "SparkContext 7s, " + second},
		"a queue of another attempt": {start: whole, history: []statusv1.OperatorTransition{waited(-90, 1), waited(99, 2)},
			want: first + "SparkContext 7s, " + second},
	} {
		var parts []string
		for _, step := range Steps(&kube.Summary{Start: test.start, History: test.history}, test.spark) {
			parts = append(parts, step.Name+" "+step.Duration().String())
		}

		if diff := cmp.Diff(test.want, strings.Join(parts, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLog finds the steps in logs as text and as JSON, with what Spark 4.1 writes.
func TestLog(t *testing.T) {
	const (
		began      = "SparkContext: Running Spark version 4.1.4"
		registered = "KubernetesClusterSchedulerBackend$KubernetesDriverEndpoint: Registered executor NettyRpcEndpointRef(spark-client://Executor) (10.42.0.9:41234) with ID "
		task       = "TaskSetManager: Starting task 0.0 in stage 0.0 (TID 0) (10.42.0.9,executor 1, partition 0, PROCESS_LOCAL, 9742 bytes) "
	)

	line := func(second, text string) string { return "2026-11-28T19:00:" + second + "Z " + text + "\n" }
	all := Times{at(4.2), at(14.3), at(14.9)}

	for name, test := range map[string]struct {
		lines []string
		want  Times
	}{
		"nothing": {},
		"text": {[]string{line("01", "Starting task 0.0 in stage 0.0 of the program"), line("04.2", "26/11/28 20:00:04 INFO "+began),
			line("14.3", "26/11/28 20:00:14 INFO "+registered+"2"), line("14.4", "26/11/28 20:00:14 INFO "+registered+"1"),
			line("14.9", "26/11/28 20:00:14 INFO "+task), line("15", "26/11/28 20:00:15 INFO "+began)}, all},
		"JSON": {[]string{line("04.2", `{"ts":"2026-11-28T19:00:04.199Z","level":"INFO","msg":"Running Spark version 4.1.4"}`),
			line("14.3", `{"msg":"Registered executor NettyRpcEndpointRef(spark-client://Executor) (10.42.0.9:41234) with ID 1"}`),
			line("14.9", `{"msg":"Starting task 0.0 in stage 0.0 (TID 0) (10.42.0.9,executor 1, partition 0)"}`)}, all},
		"the rest of a long line":         {[]string{"xx Running Spark version 4.1.4\n"}, Times{}},
		"a log without its beginning":     {[]string{line("14.3", registered+"1"), line("14.9", task)}, Times{}},
		"a later stage, a later executor": {[]string{line("04.2", began), line("20", "TaskSetManager: Starting task 0.0 in stage 1.0 (TID 9)")}, Times{ContextBegan: at(4.2)}},
	} {
		var got log
		for _, text := range test.lines {
			n, err := got.Write([]byte(text))
			if n != len(text) || err != nil && !errors.Is(err, errComplete) {
				t.Errorf("%s: %d, %v", name, n, err)
			}

			if err != nil {
				break
			}
		}

		if diff := cmp.Diff(test.want, got.Times); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
