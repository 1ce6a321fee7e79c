package connect

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestReviewHasTheMessageOfThePass checks that a review and a pass report the same message about an invalid
// SparkConnect.
func TestReviewHasTheMessageOfThePass(t *testing.T) {
	for _, piece := range []string{`server: {memory: much}`, `server: {template: {spec: {containers: none}}}`,
		`sparkConf: {spark.executor.cores: none}`} {
		sc := connectOf(t, piece)

		invalid, review := (Connects{}).invalid(sc), (Connects{}).Review(sc)
		if invalid == nil || len(review.Faults) == 0 || dialect.Invalid(review.Faults).Message != invalid.Message {
			t.Errorf("%s: the review has the faults %v, the pass %v", piece, review.Faults, invalid)
		}
	}
}

// TestRestartWarning checks that RestartWarning returns a warning about an edit that replaces a running server, and no
// warning about other edits.
func TestRestartWarning(t *testing.T) {
	running := func(mods ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
		sc := aConnect(mods...)
		rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})
		return sc
	}
	image := func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = new("other") }

	suspend := func(sc *v1alpha1.SparkConnect) { sc.Spec.Suspend = new(true) }
	for name, test := range map[string]struct {
		old, edited *v1alpha1.SparkConnect
		warns       bool
	}{
		"an image":                {running(), running(image), true},
		"nothing":                 {running(), running(), false},
		"a suspension":            {running(), running(image, suspend), false},
		"a server that is not up": {aConnect(), aConnect(image), false},
	} {
		if got := (Connects{}).RestartWarning(test.old, test.edited); (got != "") != test.warns {
			t.Errorf("%s: %q, want a warning: %t", name, got, test.warns)
		}
	}
}

// TestReviewedPods checks the pods with which a server starts. Spark starts with the largest of the three numbers of
// dynamic allocation (Utils.getDynamicAllocationInitialExecutors).
func TestReviewedPods(t *testing.T) {
	const enabled = `dynamicAllocation: {enabled: true, `
	for piece, want := range map[string]int32{
		``:                         2,
		`executor: {instances: 1}`: 1,
		`executor: {instances: 9}`: 9,
		`executor: {instances: 1}, ` + enabled +
			`initialExecutors: 5, minExecutors: 3}`: 5,
		`executor: {instances: 1}, ` + enabled +
			`initialExecutors: 2, minExecutors: 3}`: 3,
		`executor: {instances: 7}, ` + enabled +
			`initialExecutors: 5, minExecutors: 3}`: 7,
		`executor: {instances: 1}, dynamicAllocation: {enabled: false, minExecutors: 3}`:                                                1,
		`executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.initialExecutors: "4"}`: 4,
	} {
		review := (Connects{}).Review(connectOf(t, piece))
		if len(review.Faults) > 0 {
			t.Errorf("%s: %v", piece, review.Faults)
			continue
		}

		pods := review.Pods()
		if len(pods) != 2 || pods[0].Role != "server" || pods[0].Count != 1 || pods[0].Pod.Name != "hub-server" ||
			pods[1].Role != "executor" || pods[1].Count != want {
			t.Errorf("%s: pods %+v, want %d executors", piece, pods, want)
		}
	}

	c := onPlatform(platform.Settings{SparkConf: map[string]string{"spark.executor.instances": "7"},
		Executor: platform.Pod{PriorityClassName: "default"}})

	pods := c.Review(aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Instances = nil })).Pods()
	if len(pods) != 2 || pods[1].Count != 7 || pods[1].Pod.Spec.PriorityClassName != "default" {
		t.Errorf("with defaults: %+v", pods)
	}
}

// TestReviewWarns checks that a review returns the warnings of the server and of its Service, and none for a plain
// server.
func TestReviewWarns(t *testing.T) {
	for piece, want := range map[string]string{
		``: "",
		`sparkConf: {spark.kubernetes.authenticate.oauthToken: x}`:          "spec.sparkConf[spark.kubernetes.authenticate.oauthToken]: has no effect: ",
		`hadoopConf: {a: b, spark.hadoop.a: c}`:                             "spec.hadoopConf[a]: has no effect: spec.hadoopConf[spark.hadoop.a] sets the same key and overrides it",
		`server: {service: {spec: {selector: {a: b}}}}`:                     "spec.server.service: spec.selector has no effect",
		`executor: {template: {spec: {containers: [{name: a, imgae: b}]}}}`: "spec.executor.template.spec.containers[0].imgae: is not a field of a pod",
		`server: {template: {spec: {capabilities: {add: [X]}}}}`:            "spec.server.template.spec.capabilities: has no effect at this place",
		`sparkConf: {spark.kubernetes.driverEnv.A: b}`:                      "spec.sparkConf[spark.kubernetes.driverEnv.A]: has no effect",
	} {
		review := (Connects{}).Review(connectOf(t, piece))
		if len(review.Faults) > 0 {
			t.Errorf("%s: %v", piece, review.Faults)
		}

		if n := len(review.Warnings); (n > 0) != (want != "") || n > 1 || n == 1 &&
			!strings.HasPrefix(review.Warnings[0], want) {
			t.Errorf("%s: warnings %q, want %q", piece, review.Warnings, want)
		}
	}
}
