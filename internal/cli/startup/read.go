package startup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// maxLog is the number of bytes at the beginning of a log in which the steps of a start are searched.
const maxLog = 256 << 10

// Driver returns the driver pod of the start in a summary, or nil. The first task of a Connect server waits for a
// client, so its start has no times of Spark.
func Driver(s *kube.Summary, pods []corev1.Pod) *corev1.Pod {
	if s.Start == nil || s.Start.DriverStarted == nil {
		return nil
	}

	i := slices.IndexFunc(pods, func(p corev1.Pod) bool {
		return p.Labels[identity.RoleLabel] == identity.RoleDriver && identity.Attempt(&p) == s.Start.Attempt
	})
	if i < 0 {
		return nil
	}
	return &pods[i]
}

// Read returns when Spark reached the steps of the start of a driver, or nil if that is unknown. The log of the driver
// is there until the pod is deleted. If its level hides a step, Spark's REST API has it while the driver runs. Its
// answer is waited for as long as patience says, because a NetworkPolicy may drop the requests.
//
// The second result is true if a later call would return the same: the log has shown the first task, all steps are
// known, or the log is that of a driver that has ended.
func Read(ctx context.Context, c *kube.Client, driver *corev1.Pod, patience time.Duration) (times *Times, final bool) {
	var l log

	err := c.PodLog(ctx, driver, kube.LogOptions{Tail: -1, Limit: maxLog, Times: true}, &l)
	if err != nil && !errors.Is(err, errComplete) {
		l.Times = Times{} // there is no log, or it broke off
	}

	t, phase := l.Times, driver.Status.Phase
	final = !t.FirstTask.IsZero() || err == nil && (phase == corev1.PodSucceeded || phase == corev1.PodFailed)

	if t.FirstTask.IsZero() && phase == corev1.PodRunning {
		rest := readREST(ctx, c, driver, patience)
		t = Times{cmp.Or(t.ContextBegan, rest.ContextBegan), cmp.Or(t.ExecutorRegistered, rest.ExecutorRegistered), rest.FirstTask}
		final = !t.ContextBegan.IsZero() && !t.ExecutorRegistered.IsZero() && !t.FirstTask.IsZero()
	}

	if t == (Times{}) {
		return nil, final
	}
	return &t, final
}

// log finds the steps of a start in the lines of a driver's log, which begin with the time of the node.
type log struct{ Times }

// errComplete ends the reading of a log that has shown all steps.
var errComplete = errors.New("all steps were found")

// Write takes a line of the log. Entries of Spark contain these texts in all versions, also as JSON.
func (l *log) Write(line []byte) (int, error) {
	var step *time.Time

	switch {
	case bytes.Contains(line, []byte("Running Spark version ")):
		step = &l.ContextBegan
	case l.ContextBegan.IsZero(): // an output of the program before Spark
	case bytes.Contains(line, []byte("Registered executor NettyRpcEndpointRef(")):
		step = &l.ExecutorRegistered
	case bytes.Contains(line, []byte("Starting task 0.0 in stage 0.0 ")):
		step = &l.FirstTask
	}

	if step != nil && step.IsZero() {
		text, _, _ := bytes.Cut(line, []byte(" "))
		if at, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
			*step = at.UTC()
		}
	}

	if !l.FirstTask.IsZero() {
		return len(line), errComplete
	}
	return len(line), nil
}

// executor and stage are what Spark's REST API answers about times (org.apache.spark.status.api.v1).
type (
	executor struct {
		ID    string `json:"id"`
		Added string `json:"addTime"`
	}
	stage struct {
		ID       int    `json:"stageId"`
		Launched string `json:"firstTaskLaunchedTime"`
	}
)

// readREST reads the times from Spark's REST API. Spark forgets old executors and stages, so the first ones count only
// if they have the first numbers.
func readREST(ctx context.Context, c *kube.Client, driver *corev1.Pod, patience time.Duration) (t Times) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var (
		executors []executor
		stages    []stage
	)

	app, missing := podproxy.ReadApp(ctx, c, driver, "times")
	if missing != "" || len(app.Attempts) == 0 {
		return Times{}
	}

	t.ContextBegan = podproxy.Time(app.Attempts[0].Started)

	if app.Read(ctx, c, driver, "allexecutors", &executors) == "" && slices.ContainsFunc(executors, func(e executor) bool { return e.ID == "1" }) {
		for _, e := range executors {
			if e.ID != "driver" {
				t.ExecutorRegistered = earlier(t.ExecutorRegistered, podproxy.Time(e.Added))
			}
		}
	}

	if app.Read(ctx, c, driver, "stages", &stages) == "" && slices.ContainsFunc(stages, func(s stage) bool { return s.ID == 0 }) {
		for _, s := range stages {
			t.FirstTask = earlier(t.FirstTask, podproxy.Time(s.Launched))
		}
	}
	return t
}
