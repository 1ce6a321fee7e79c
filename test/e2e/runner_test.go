package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// bySparkSubmit tests applications that spark-submit submits. The operator runs spark-submit from the application's own
// image in a separate pod, and spark-submit creates the driver pod.
func (w *suite) bySparkSubmit(t *testing.T) {
	t.Run("completes", w.submittedCompletes)
	t.Run("fails", w.submissionFails)
}

// submittedCompletes checks the result, the status and an event of an application that spark-submit has submitted.
func (w *suite) submittedCompletes(t *testing.T) {
	t.Parallel()
	app := w.example(t, "spark-pi-spark-submit.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "by-spark-submit" // the test finds spark-submit's objects by this name, because they have no label of ours
		a.Spec.Executor.Instances = new(int32(1))
	})
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)

	if log := w.driverLog(t, app); !piLine.MatchString(log) {
		t.Errorf("no result in the driver's log:\n%s", log)
	}

	if s := app.Status; s.ExecutionAttempts != 1 || s.SubmissionAttempts != 1 ||
		len(s.ExecutorState) != int(*app.Spec.Executor.Instances) {
		t.Errorf("%d runs of %d submissions, executors %v", s.ExecutionAttempts, s.SubmissionAttempts, s.ExecutorState)
	}

	driver, submitter := w.podOf(t, app, "driver"), w.podOf(t, app, "submitter")
	if ref := metav1.GetControllerOf(driver); ref == nil || ref.UID != app.UID ||
		driver.Name != "by-spark-submit-driver" {
		t.Errorf("the driver is %s, its controller %+v", driver.Name, ref)
	}

	if id := driver.Labels["spark-app-selector"]; id == "" || id != app.Status.SparkApplicationID {
		t.Errorf("sparkApplicationId is %q, the driver's %q", app.Status.SparkApplicationID, id)
	}

	if submitter.Spec.ServiceAccountName != cluster.SubmitAccount ||
		driver.Spec.ServiceAccountName != cluster.ServiceAccount || submitter.Labels["spark-app-selector"] != "" {
		t.Errorf("the submitter runs as %q with labels %v", submitter.Spec.ServiceAccountName, submitter.Labels)
	}

	w.awaitEvent(t, app, "an event that names the submission mode", func(e corev1.Event) bool {
		return e.Reason == "SparkApplicationSubmitted" &&
			contains(e.Message, []string{submitter.Name, "spec.submission.mode is SparkSubmit"})
	})
	w.remove(t, app)
	w.waitNoSecrets(t, app)
}

// submissionFails checks that the operator uses spark-submit for a feature that it does not support itself. The
// submission fails, and the error message must contain the reason. The operator then retries, so it needs the rights to
// delete all objects of the first attempt.
func (w *suite) submissionFails(t *testing.T) {
	t.Parallel()
	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "no-such-step"
		a.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.pod.featureSteps": "org.example.NoSuchStep"}
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{
			Type: v1beta2.RestartPolicyOnFailure, OnSubmissionFailureRetries: new(int32(1)),
			OnSubmissionFailureRetryInterval: new(int64(1)),
		}
	})
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateFailed)

	if m := app.Status.AppState.ErrorMessage; !contains(m,
		[]string{"spark-submit", "exit code 1", "ClassNotFoundException", "org.example.NoSuchStep"}) {
		t.Errorf("errorMessage is %q", m)
	}

	t.Logf("the errorMessage is: %s", app.Status.AppState.ErrorMessage)

	if c := condition(app, "Failed"); c.Reason != "SparkSubmitFailed" || app.Status.ExecutionAttempts != 0 ||
		app.Status.SubmissionAttempts != 2 {
		t.Errorf("condition Failed is %+v, after %d runs of %d submissions, want 0 of 2", c,
			app.Status.ExecutionAttempts, app.Status.SubmissionAttempts)
	}

	if log, err := w.Core.CoreV1().Pods(app.Namespace).GetLogs(w.podOf(t, app, "submitter").Name,
		&corev1.PodLogOptions{}).DoRaw(t.Context()); err != nil ||
		!strings.Contains(string(log), "org.example.NoSuchStep") {
		t.Errorf("the log of the pod that submits is not kept (%v):\n%s", err, log)
	}

	w.remove(t, app)
	w.waitNoSecrets(t, app)
}

// podOf returns the pod of an object that has the given role. It fails the test unless there is exactly one such pod.
func (w *suite) podOf(t *testing.T, owner client.Object, role string) *corev1.Pod {
	t.Helper()

	pods := w.podsOf(t, owner, role)
	if len(pods) != 1 {
		t.Fatalf("%d pods of role %s", len(pods), role)
	}
	return &pods[0]
}

// podsOf returns the pods of an object that have the given role.
func (w *suite) podsOf(t *testing.T, owner client.Object, role string) []corev1.Pod {
	t.Helper()

	var pods corev1.PodList
	if err := w.Client.List(t.Context(), &pods, client.InNamespace(owner.GetNamespace()),
		client.MatchingLabels{labelAppUID: string(owner.GetUID()), "spark-role": role}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// waitNoSecrets waits until the Secrets of the application are gone.
func (w *suite) waitNoSecrets(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()
	eventually(t, time.Minute, "no Secret of the application", func() (string, bool) {
		var secrets corev1.SecretList
		if err := w.Client.List(t.Context(), &secrets, client.InNamespace(app.Namespace),
			client.MatchingLabels{labelAppUID: string(app.UID)}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(objectNames(&secrets), ", "), len(secrets.Items) == 0
	})
}
