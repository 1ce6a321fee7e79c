package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// evictedByKubelet checks that the retry policy also applies if the kubelet evicts the driver. The driver exceeds the
// size limit of a volume.
func (w *suite) evictedByKubelet(t *testing.T) {
	app := w.scriptedApp(t, "overfull", []string{"told"}, func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = oneRetry()
		a.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Mi"))},
		}}}
		a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	})
	w.mountInstruction(t, app, "fill")
	s := w.createStory(t, app)
	s.untilRun(t, 1)
	s.untilStep(t, "fill")
	w.setInstruction(t, app, "end")
	s.untilState(t, failing)

	if c := condition(s.app, "Ready"); c.Reason != "Evicted" ||
		!contains(s.app.Status.AppState.ErrorMessage, []string{"scratch", "1Mi"}) {
		t.Errorf("evicted: condition Ready is %+v, errorMessage %q", c, s.app.Status.AppState.ErrorMessage)
	}

	s.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, completed),
		runs:   2, submissions: 2, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationPendingRerun", "SparkApplicationSubmitted",
			"SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning"},
	})
}

// untilStep waits until the driver logs that it starts the given step. For a step that mountInstruction has chosen,
// this log line also shows that the driver has already read the instruction.
func (s *story) untilStep(t *testing.T, step string) {
	t.Helper()
	eventually(t, patience, "step "+step, func() (string, bool) {
		log := s.driverLog(t, s.app)
		return log, slices.Contains(strings.Split(log, "\n"), "step "+step)
	})
}

// outOfHeap checks the message for a JVM that exceeds its own heap limit. For such a JVM, Kubernetes reports only an
// exit code.
func (w *suite) outOfHeap(t *testing.T) {
	s := w.createStory(t, w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.Arguments = "heap", nil
		failingClass(a, "HeapExhausted")
	}))
	s.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, failed),
		runs:   1, submissions: 1, reason: "OutOfHeap",
		wantMessage: []string{"driver container failed with exit code", "java.lang.OutOfMemoryError"},
		events: []string{"SparkApplicationFailed", "SparkApplicationSubmitted", "SparkDriverFailed",
			"SparkDriverRunning"},
	})
}

// failingClass makes the application run the given class of local/images/spark/java/failures.
func failingClass(a *v1beta2.SparkApplication, class string) {
	a.Spec.MainClass, a.Spec.MainApplicationFile = new("dev.sparkoperator.failures."+class),
		"local:///opt/spark/examples/jars/spark-failures.jar"
}

// executorChurn checks that executor churn by dynamic allocation causes no warnings and no condition.
func (w *suite) executorChurn(t *testing.T) {
	s := w.createStory(t, w.scriptedApp(t, "come-and-go", []string{"work", "idle", "end"},
		func(a *v1beta2.SparkApplication) {
			a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{
				Enabled: true, InitialExecutors: new(int32(0)), MinExecutors: new(int32(0)),
				MaxExecutors:           new(int32(2)),
				ShuffleTrackingTimeout: new(int64(1000)),
			}
			a.Spec.Executor.Instances = nil
			a.Spec.SparkConf = map[string]string{"spark.dynamicAllocation.executorIdleTimeout": "3s",
				"spark.kubernetes.allocation.batch.delay": "500ms"}
		}))
	s.waitFor(t, patience, "two executors", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running == 2
	})
	s.waitFor(t, patience, "none", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running == 0 && a.Status.Executors.Completed >= 2
	})

	if state, got := s.app.Status.AppState.State, conditions(s.app); state != running || got["Degraded"] != "" ||
		got["Ready"] != "True" {
		t.Errorf("after the idle executors ended: state %s, conditions %v", state, got)
	}

	s.checkEnd(t, ending{
		states: states(created, submitted, running, completed),
		runs:   1, submissions: 1, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationSubmitted", "SparkDriverRunning"},
	})

	if s.peak.Running != 2 || s.peak.Failed != 0 ||
		s.app.Status.Executors.Completed != int32(len(s.app.Status.ExecutorState)) {
		t.Errorf("executors at most: %+v; in the end %+v of %v", s.peak, s.app.Status.Executors,
			s.app.Status.ExecutorState)
	}

	s.remove(t, s.app)
}

// executorsFail checks that an event gives the reason why an executor failed. The application's error message describes
// the effect on the driver.
func (w *suite) executorsFail(t *testing.T) {
	s := w.createStory(t, w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.Arguments = "executors-fail", []string{"exit"}
		a.Spec.Executor.Instances = new(int32(1))
		a.Spec.SparkConf = map[string]string{"spark.task.maxFailures": "1"}
		failingClass(a, "TaskFails")
	}))
	s.waitFor(t, patience, "the end",
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == failed })

	if s.peak.Failed == 0 {
		t.Errorf("no executor has failed: %+v", s.app.Status.Executors)
	}

	if !slices.ContainsFunc(s.events(t, s.app), func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && e.Reason == "SparkExecutorFailed" &&
			strings.Contains(e.Message, "exit code 7")
	}) {
		t.Errorf("no event reports the exit code:\n%s", s.describe(t, s.app))
	}

	if !contains(s.app.Status.AppState.ErrorMessage, []string{"driver container failed", "ExecutorLostFailure"}) {
		t.Errorf("errorMessage is %q", s.app.Status.AppState.ErrorMessage)
	}

	s.remove(t, s.app)
}
