package e2e

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// wholeLife enables all scenarios, including the slow ones that mostly wait. `make e2e` sets it.
var wholeLife = flag.Bool("life", false, "run every scenario of an application's life, including the slow ones")

// These are the states of a successful run and of a run that is retried.
var (
	created   = v1beta2.ApplicationStateNew
	submitted = v1beta2.ApplicationStateSubmitted
	running   = v1beta2.ApplicationStateRunning
	completed = v1beta2.ApplicationStateCompleted
	failed    = v1beta2.ApplicationStateFailed
	failing   = v1beta2.ApplicationStateFailing
	rerun     = v1beta2.ApplicationStatePendingRerun
)

func states(all ...v1beta2.ApplicationStateType) []v1beta2.ApplicationStateType { return all }

// life runs applications from their creation to their end. It checks every stored state and all events.
func (w *suite) life(t *testing.T) {
	w.lifeProgram(t)
	t.Run("parallel", func(t *testing.T) {
		w.parallel(t, "suspend, resume, edit, expire", w.longLife)
		w.parallel(t, "driver evicted, then deleted", w.driverEvicted)
		w.parallel(t, "retried to success beside a sidecar", w.sidecarOutlivesDriver)
		w.parallel(t, "budget blocks evictions", w.disruptionBudget)
		w.parallel(t, "quota rejects executors", w.quotaRejectsExecutors)
		w.parallel(t, "executors are changed at admission", w.executorsAtAdmission)

		if *wholeLife {
			w.parallel(t, "missing service account blocks executors", w.missingAccountBlocksExecutors)
			w.parallel(t, "evicted by the kubelet", w.evictedByKubelet)
			w.parallel(t, "every field reaches the pods", w.podFields)
			w.parallel(t, "driver heap exhausted", w.outOfHeap)
			w.parallel(t, "executor churn", w.executorChurn)
			w.parallel(t, "executors fail", w.executorsFail)
		}
	})

	if *wholeLife {
		t.Run("node lost", w.nodeLost) // no other test can run pods on the node at this time
	}
}

// lifeProgram creates the ConfigMap with the Python program that the drivers run, unless the ConfigMap exists.
func (w *suite) lifeProgram(t *testing.T) {
	t.Helper()

	program, err := os.ReadFile("testdata/life/main.py")
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Client.Create(t.Context(),
		configMap("life-program", "main.py", string(program))); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

func (w *suite) parallel(t *testing.T, name string, scenario func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		scenario(t)
	})
}

// scriptedApp returns an application whose driver performs the steps of testdata/life/main.py, with minimal resources.
func (w *suite) scriptedApp(t *testing.T, name string, steps []string,
	change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	t.Helper()
	return w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = name
		a.Spec.MainApplicationFile, a.Spec.Arguments = "local:///opt/life/main.py", steps
		a.Spec.Driver.CoreRequest, a.Spec.Executor.CoreRequest = new("100m"), new("100m")

		a.Spec.Driver.ConfigMaps = []v1beta2.NamePath{{Name: "life-program", Path: "/opt/life"}}
		if change != nil {
			change(a)
		}
	})
}

// oneRetry returns a policy with one retry after five seconds. With a shorter delay, the test could miss the state
// FAILING. The state ends when the delay since the driver's end has passed, and Kubernetes reports that end only to the
// second.
func oneRetry() v1beta2.RestartPolicy {
	return v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)),
		OnFailureRetryInterval: new(int64(5))}
}

// mountInstruction creates a ConfigMap with the name of a step, and mounts the ConfigMap into the driver. When the
// driver reaches the step "told" of testdata/life/main.py, it reads this name and performs the named step.
func (w *suite) mountInstruction(t *testing.T, app *v1beta2.SparkApplication, step string) {
	t.Helper()
	w.createAll(t, configMap(instructionMap(app), "step", step))
	app.Spec.Driver.ConfigMaps = append(app.Spec.Driver.ConfigMaps,
		v1beta2.NamePath{Name: instructionMap(app), Path: "/opt/told"})
}

// setInstruction changes the step that the next attempt performs in "told". The current attempt has already read its
// instruction.
func (w *suite) setInstruction(t *testing.T, app *v1beta2.SparkApplication, step string) {
	t.Helper()

	if err := w.Client.Update(t.Context(), configMap(instructionMap(app), "step", step)); err != nil {
		t.Fatal(err)
	}
}

// instructionMap returns the name of the ConfigMap with the application's instruction. The name must not begin with the
// application's name, because the test function dependents would otherwise count the ConfigMap as a dependent.
func instructionMap(app *v1beta2.SparkApplication) string { return "told-" + app.Name }

func configMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Data: map[string]string{key: value}}
}

// longLife suspends and resumes a running application, edits its spec, and lets it expire. An edit of fields that only
// control the operator must not start a new run. The deploy mode is client, which makes no difference, because the
// operator runs the driver in its own pod in this mode too.
func (w *suite) longLife(t *testing.T) {
	s := w.createStory(t, w.scriptedApp(t, "long", []string{"session", "sleep"}, func(a *v1beta2.SparkApplication) {
		a.Spec.Mode = v1beta2.DeployModeClient
		a.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "nobodys", "example.dev/team": "life"}
	}))
	s.untilWorking(t, 1)
	s.kueueContract(t)

	submission := s.app.Status.SubmissionID
	s.patch(t, `{"metadata": {"labels": {"example.dev/team": "another"}}, "spec": {"timeToLiveSeconds": 3600, "timeouts": {"runSeconds": 3600},
		"restartPolicy": {"type": "OnFailure", "onFailureRetries": 1}}}`)
	s.waitFor(t, patience, "the patch to be observed",
		func(a *v1beta2.SparkApplication) bool { return a.Status.ObservedGeneration == a.Generation })

	if s.app.Status.SubmissionID != submission {
		t.Errorf("an edit of fields that only control the operator started another run")
	}

	s.patch(t, `{"spec": {"suspend": true}}`)
	s.untilState(t, v1beta2.ApplicationStateSuspended)
	// The operator deletes the auxiliary objects after it has stored the state.
	eventually(t, patience, "deletion of a suspended run's objects", func() (string, bool) {
		left := w.dependents(t, s.app)
		return strings.Join(left, ", "), len(left) == 0
	})

	if diff := cmp.Diff(endConditions(v1beta2.ApplicationStateSuspended), conditions(s.app)); diff != "" ||
		s.app.Status.ExecutionAttempts != 1 {
		t.Errorf("suspended after %d runs, want 1; conditions (-want +got):\n%s", s.app.Status.ExecutionAttempts, diff)
	}

	s.patch(t, `{"spec": {"suspend": false}}`)
	s.untilWorking(t, 2)

	if got := s.app.Status.ExecutionAttempts; got != 2 {
		t.Errorf("resumed as run %d, want 2: the attempts are kept", got)
	}

	s.patch(t, `{"spec": {"arguments": ["end"], "timeToLiveSeconds": 2}}`)
	s.checkEnd(t, ending{
		states: states(created, submitted, running, v1beta2.ApplicationStateSuspending,
			v1beta2.ApplicationStateSuspended,
			submitted, running, v1beta2.ApplicationStateInvalidating, submitted, running, completed),
		runs: 1, submissions: 1, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationResuming", "SparkApplicationSpecChanged",
			"SparkApplicationSubmitted",
			"SparkApplicationSubmitted", "SparkApplicationSubmitted", "SparkApplicationSuspended",
			"SparkApplicationSuspending",
			"SparkDriverRunning", "SparkDriverRunning", "SparkDriverRunning", "SubmissionWarning"}, // no Kueue suspended it
	})
	s.waitExpired(t)
}

// untilWorking waits until the driver of an attempt and an executor are running.
func (s *story) untilWorking(t *testing.T, attempt int32) {
	t.Helper()
	s.waitFor(t, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == running && a.Status.Operator.Attempt == attempt &&
			a.Status.Executors != nil && a.Status.Executors.Running > 0
	})
}

// kueueContract checks the properties that Kueue depends on. The application controls the driver pod through its owner
// reference. It also owns the executor pods, but does not control them. Kueue's labels stay on the application, and all
// other labels are copied to the pods.
func (s *story) kueueContract(t *testing.T) {
	t.Helper()

	driver := s.driver(t)
	if ref := metav1.GetControllerOf(driver); ref == nil || ref.UID != s.app.UID {
		t.Errorf("the driver's controller is %v, want the application", ref)
	}

	executors := s.executors(t)
	if len(executors) == 0 {
		t.Error("no executor pod")
	}

	for _, pod := range executors {
		own := slices.IndexFunc(pod.OwnerReferences,
			func(ref metav1.OwnerReference) bool { return ref.UID == s.app.UID })
		if own < 0 || pod.OwnerReferences[own].Controller != nil {
			t.Errorf("the owners of executor %s are %v, want the application as a plain one", pod.Name,
				pod.OwnerReferences)
		}
	}

	for _, pod := range append(executors, *driver) {
		for label := range pod.Labels {
			if strings.HasPrefix(label, "kueue.x-k8s.io/") {
				t.Errorf("pod %s has the label %s", pod.Name, label)
			}
		}

		if pod.Labels["example.dev/team"] != "life" {
			t.Errorf("pod %s lacks the application's label", pod.Name)
		}
	}
}

// driverEvicted checks that the policy retries a run whose driver was evicted. The test then deletes the driver of the
// second run, which must fail the application, because the policy has no retry left.
func (w *suite) driverEvicted(t *testing.T) {
	s := w.createStory(t, w.scriptedApp(t, "taken", []string{"sleep"},
		func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy = oneRetry() }))
	s.untilRun(t, 1)
	driver := s.driver(t)

	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: driver.Name, Namespace: driver.Namespace}}
	if err := w.Core.PolicyV1().Evictions(driver.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}

	s.untilState(t, failing)

	if c := condition(s.app, "Ready"); c.Reason != "Evicted" ||
		!strings.Contains(s.app.Status.AppState.ErrorMessage, "Eviction API") {
		t.Errorf("evicted: condition Ready is %+v, errorMessage %q", c, s.app.Status.AppState.ErrorMessage)
	}

	s.untilRun(t, 2)

	if err := w.Client.Delete(t.Context(), s.driver(t)); err != nil {
		t.Fatal(err)
	}

	s.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, failed),
		runs:   2, submissions: 2, reason: "DriverDeleted", wantMessage: []string{"deleted"},
		events: []string{"SparkApplicationFailed", "SparkApplicationPendingRerun", "SparkApplicationSubmitted",
			"SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning"},
	})
}

// sidecarOutlivesDriver checks that a run ends with its driver, even if a sidecar continues. The first run fails, so
// the operator deletes the driver pod with the sidecar and starts a second run, which succeeds.
func (w *suite) sidecarOutlivesDriver(t *testing.T) {
	app := w.scriptedApp(t, "outlived", []string{"told"}, func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = oneRetry()
		a.Spec.Driver.Template = raw(`{"spec": {"terminationGracePeriodSeconds": 2, "containers": [
			{"name": "spark-kubernetes-driver"},
			{"name": "beside", "image": "` + *a.Spec.Image + `", "command": ["sleep", "infinity"]}]}}`)
	})
	w.mountInstruction(t, app, "fail")
	s := w.createStory(t, app)
	s.untilState(t, failing)
	s.checkSidecarRuns(t)
	w.setInstruction(t, app, "end")
	s.waitFor(t, patience, "the end",
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == completed })
	s.checkSidecarRuns(t)
	s.checkEndAndRemove(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, completed),
		runs:   2, submissions: 2, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationPendingRerun", "SparkApplicationSubmitted",
			"SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning"},
	})

	if len(s.errorMessages) != 1 ||
		!contains(s.errorMessages[0], []string{"driver container failed", "exit code 1", "failing as it was told"}) {
		t.Errorf("the error messages are %q", s.errorMessages)
	}
}

// checkSidecarRuns checks that the sidecar still runs after the driver has ended.
func (s *story) checkSidecarRuns(t *testing.T) {
	t.Helper()
	pod := s.driver(t)

	ended := map[string]bool{}
	for _, c := range pod.Status.ContainerStatuses {
		ended[c.Name] = c.State.Terminated != nil
	}

	if !ended["spark-kubernetes-driver"] || ended["beside"] || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("the pod is %s, its containers have ended: %v; want the sidecar alone to run", pod.Status.Phase, ended)
	}
}
