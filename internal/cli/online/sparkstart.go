package online

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

// sparkStart returns when Spark reached the steps of its start, or nil if Spark's REST API does not answer, for example
// because the user may not use it. It reads until the first task is known, and then once for each attempt. A Connect
// server has no such times, because its first task waits for a client.
func (w *watcher) sparkStart(ctx context.Context, r *screen.Report, pods []corev1.Pod) *screen.SparkStart {
	_, server := w.object.(*v1alpha1.SparkConnect)
	if server || r.Start == nil || r.Start.DriverStarted == nil || r.Over() {
		return nil
	}

	driver := slices.IndexFunc(r.Pods, func(p screen.Pod) bool { return p.Role == "driver" && p.Phase == string(corev1.PodRunning) })
	if driver < 0 {
		return nil
	}

	if w.spark == nil || w.spark.FirstTask.IsZero() || w.sparkPod != pods[driver].UID {
		w.spark, w.sparkPod = readSparkStart(ctx, w.Client, &pods[driver]), pods[driver].UID
	}
	return w.spark
}

// sparkExecutor and sparkStage are what Spark's REST API answers about times (org.apache.spark.status.api.v1).
type (
	sparkExecutor struct {
		ID    string `json:"id"`
		Added string `json:"addTime"`
	}
	sparkStage struct {
		ID       int    `json:"stageId"`
		Launched string `json:"firstTaskLaunchedTime"`
	}
)

// readSparkStart reads the times of a start. Spark forgets old executors and stages, so the first ones count only if
// they have the first numbers.
func readSparkStart(ctx context.Context, c *kube.Client, driver *corev1.Pod) *screen.SparkStart {
	var (
		executors []sparkExecutor
		stages    []sparkStage
	)

	app, missing := screen.ReadSparkApp(ctx, c, driver, "times")
	if missing != "" || len(app.Attempts) == 0 {
		return nil
	}

	s := &screen.SparkStart{ContextBegan: screen.SparkTime(app.Attempts[0].Started)}

	if app.Read(ctx, c, driver, "allexecutors", &executors) == "" && slices.ContainsFunc(executors, func(e sparkExecutor) bool { return e.ID == "1" }) {
		for _, e := range executors {
			if e.ID != "driver" {
				s.ExecutorRegistered = earlier(s.ExecutorRegistered, screen.SparkTime(e.Added))
			}
		}
	}

	if app.Read(ctx, c, driver, "stages", &stages) == "" && slices.ContainsFunc(stages, func(s sparkStage) bool { return s.ID == 0 }) {
		for _, stage := range stages {
			s.FirstTask = earlier(s.FirstTask, screen.SparkTime(stage.Launched))
		}
	}
	return s
}

// earlier returns the earlier one of two times. Zero times do not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
