//go:build linux

package recorded

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// limits has the values at both sides of each limit that the operator checks because a SparkContext does.
var limits = map[string]string{
	"spark.kubernetes.allocation.batch.size":                      "0 1 x",
	"spark.kubernetes.allocation.batch.delay":                     "0 1 100ms 101ms 1.5s",
	"spark.kubernetes.allocation.maximum":                         "0 1",
	"spark.kubernetes.allocation.maxPendingPods":                  "0 1",
	"spark.kubernetes.allocation.driver.readinessTimeout":         "0 999ms 1s",
	"spark.kubernetes.allocation.executor.timeout":                "0 1ms",
	"spark.kubernetes.executor.apiPollingInterval":                "0 1ms",
	"spark.kubernetes.executor.eventProcessingInterval":           "0 1ms",
	"spark.memory.storageFraction":                                "-0.1 0 0.99 1",
	"spark.memory.offHeap.size":                                   "-1 0",
	"spark.scheduler.listenerbus.eventqueue.capacity":             "0 1",
	"spark.scheduler.listenerbus.metrics.maxListenerClassesTimed": "-2 -1",
	"spark.scheduler.numCancelledJobGroupsToTrack":                "0 1",
	"spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "0 1",
	"spark.buffer.size":                                           "-1 0",
	"spark.diskStore.subDirectories":                              "0 1",
	"spark.log.level":                                             "WARNING warn",
}

// TestLimitsAreThoseOfSpark starts a SparkContext with each value, and compares whether it starts with whether the
// operator submits the value. `make e2e` does so with each line of Spark.
func TestLimitsAreThoseOfSpark(t *testing.T) {
	versions := []string{version}
	if os.Getenv("RECORDED") == "all" {
		versions = lines
	}

	var settings []string
	for key, values := range limits {
		for value := range strings.FieldsSeq(values) {
			settings = append(settings, key+"="+value)
		}
	}

	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var log bytes.Buffer

			results, err := newMachine(t, version).Contexts(t.Context(), settings, &log)
			if err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}

			for i, result := range results {
				key, value, _ := strings.Cut(settings[i], "=")
				if refusal := submitted(version, key, value); (refusal == nil) != (result == "") {
					t.Errorf("%s: a SparkContext ends with %q, and the operator with %v", settings[i], result, refusal)
				}
			}
		})
	}
}

// submitted returns the error of the operator about a request with a setting.
func submitted(version, key, value string) error {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "spark:"+version)
	c.Set(key, value)

	_, err := native.Build(submit.Request{
		SparkVersion: version, Namespace: "default", AppName: "pi", AppID: "spark-1", ResourceNamePrefix: "pi-1", Conf: c,
		MainClass: "org.apache.spark.examples.SparkPi", Resource: "local:///opt/spark/examples/jars/spark-examples.jar",
	})
	return err
}
