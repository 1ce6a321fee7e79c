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

// wholeLife enables all scenarios, including those that mostly wait. `make e2e` sets it.
var wholeLife = flag.Bool("life", false, "run every scenario of an application's life, not only the most telling")

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

// life follows applications from their creation to their end. It checks every stored state and all events.
func (w *world) life(t *testing.T) {
	w.lifeProgram(t)
	t.Run("side by side", func(t *testing.T) {
		w.side(t, "suspended, resumed, edited, expired", w.longLife)
		w.side(t, "evicted, then deleted by hand", w.taken)
		w.side(t, "retried to success, outlived by a sidecar", w.outlived)
		w.side(t, "kept from evictions", w.disruptionBudget)
		w.side(t, "executors refused by a quota", w.quotaRefuses)
		if *wholeLife {
			w.side(t, "executors refused for their account", w.accountRefuses)
			w.side(t, "evicted by the kubelet", w.overfull)
			w.side(t, "every field of the pods", w.podFields)
			w.side(t, "out of heap", w.outOfHeap)
			w.side(t, "executors come and go", w.comeAndGo)
			w.side(t, "executors fail", w.executorsFail)
		}
	})
	if *wholeLife {
		t.Run("node lost", w.nodeLost) // no other test can run pods on the node at this time
	}
}

// lifeProgram creates the ConfigMap with the program of the drivers, if it does not exist.
func (w *world) lifeProgram(t *testing.T) {
	t.Helper()
	program, err := os.ReadFile("testdata/life/main.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Create(t.Context(), configMap("life-program", "main.py", string(program))); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

func (w *world) side(t *testing.T, name string, scenario func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		scenario(t)
	})
}

// told returns an application whose driver performs the steps of testdata/life/main.py, with minimal resources.
func (w *world) told(t *testing.T, name string, steps []string, change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
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

// onceAgain returns a policy with one retry after some seconds. Kubernetes reports a driver's end with a precision of
// one second. FAILING is visible only if some of the retry interval is left.
func onceAgain() v1beta2.RestartPolicy {
	return v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(5))}
}

// tell creates the ConfigMap with the instruction for the step "told" and mounts it.
func (w *world) tell(t *testing.T, app *v1beta2.SparkApplication, step string) {
	t.Helper()
	w.make(t, configMap(toldOf(app), "step", step))
	app.Spec.Driver.ConfigMaps = append(app.Spec.Driver.ConfigMaps, v1beta2.NamePath{Name: toldOf(app), Path: "/opt/told"})
}

// tellNext changes the instruction for the next run. A current run has already read it.
func (w *world) tellNext(t *testing.T, app *v1beta2.SparkApplication, step string) {
	t.Helper()
	if err := w.Client.Update(t.Context(), configMap(toldOf(app), "step", step)); err != nil {
		t.Fatal(err)
	}
}

// toldOf returns the name of the ConfigMap. The name must not begin with the application's name, because children would
// then count it as a dependent.
func toldOf(app *v1beta2.SparkApplication) string { return "told-" + app.Name }

func configMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{key: value}}
}

// longLife suspends and resumes a running application, edits its spec, and lets it expire. Fields that only control the
// operator change without a new run. The deploy mode client makes no difference, because the driver also runs in its
// own pod.
func (w *world) longLife(t *testing.T) {
	s := w.begin(t, w.told(t, "long", []string{"session", "sleep"}, func(a *v1beta2.SparkApplication) {
		a.Spec.Mode = v1beta2.DeployModeClient
		a.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "nobodys", "example.dev/team": "life"}
	}))
	s.untilWorking(t, 1)
	s.kueueContract(t)

	submission := s.app.Status.SubmissionID
	s.patch(t, `{"metadata": {"labels": {"example.dev/team": "another"}}, "spec": {"timeToLiveSeconds": 3600, "timeouts": {"runSeconds": 3600},
		"restartPolicy": {"type": "OnFailure", "onFailureRetries": 1}}}`)
	s.until(t, patience, "the patch to be seen", func(a *v1beta2.SparkApplication) bool { return a.Status.ObservedGeneration == a.Generation })
	if s.app.Status.SubmissionID != submission {
		t.Errorf("fields that only steer the operator made another run")
	}

	s.patch(t, `{"spec": {"suspend": true}}`)
	s.untilState(t, v1beta2.ApplicationStateSuspended)
	// Auxiliary objects disappear after the state is stored.
	eventually(t, patience, "nothing to be left of a suspended run", func() (string, bool) {
		left := w.children(t, s.app)
		return strings.Join(left, ", "), len(left) == 0
	})
	if diff := cmp.Diff(endConditions(v1beta2.ApplicationStateSuspended), conditions(s.app)); diff != "" || s.app.Status.ExecutionAttempts != 1 {
		t.Errorf("suspended after %d runs, want 1; conditions (-want +got):\n%s", s.app.Status.ExecutionAttempts, diff)
	}
	s.patch(t, `{"spec": {"suspend": false}}`)
	s.untilWorking(t, 2)
	if got := s.app.Status.ExecutionAttempts; got != 2 {
		t.Errorf("resumed as run %d, want 2: the attempts are kept", got)
	}

	s.patch(t, `{"spec": {"arguments": ["end"], "timeToLiveSeconds": 2}}`)
	s.comesTo(t, ending{
		states: states(created, submitted, running, v1beta2.ApplicationStateSuspending, v1beta2.ApplicationStateSuspended,
			submitted, running, v1beta2.ApplicationStateInvalidating, submitted, running, completed),
		runs: 1, submissions: 1, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationResuming", "SparkApplicationSpecChanged", "SparkApplicationSubmitted",
			"SparkApplicationSubmitted", "SparkApplicationSubmitted", "SparkApplicationSuspended", "SparkApplicationSuspending",
			"SparkDriverRunning", "SparkDriverRunning", "SparkDriverRunning"},
	})
	s.expires(t)
}

// untilWorking waits until the driver of an attempt and an executor are running.
func (s *story) untilWorking(t *testing.T, attempt int32) {
	t.Helper()
	s.until(t, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == running && a.Status.Operator.Attempt == attempt && a.Status.Executors != nil && a.Status.Executors.Running > 0
	})
}

// kueueContract checks the properties that Kueue depends on. The application is the controller of the driver
// and a plain owner of the executors. Kueue's labels stay on the application. Other labels are copied to the pods.
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
		own := slices.IndexFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == s.app.UID })
		if own < 0 || pod.OwnerReferences[own].Controller != nil {
			t.Errorf("the owners of executor %s are %v, want the application as a plain one", pod.Name, pod.OwnerReferences)
		}
	}
	for _, pod := range append(executors, *driver) {
		for label := range pod.Labels {
			if strings.HasPrefix(label, "kueue.x-k8s.io/") {
				t.Errorf("pod %s has the label %s", pod.Name, label)
			}
		}
		if pod.Labels["example.dev/team"] != "life" {
			t.Errorf("pod %s has not the application's label", pod.Name)
		}
	}
}

// taken checks that the policy retries an evicted driver. A later deletion of the driver is a failure, because no retry
// is left.
func (w *world) taken(t *testing.T) {
	s := w.begin(t, w.told(t, "taken", []string{"sleep"}, func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy = onceAgain() }))
	s.untilRun(t, 1)
	driver := s.driver(t)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: driver.Name, Namespace: driver.Namespace}}
	if err := w.Core.PolicyV1().Evictions(driver.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	s.untilState(t, failing)
	if c := condition(s.app, "Ready"); c.Reason != "Evicted" || !strings.Contains(s.app.Status.AppState.ErrorMessage, "Eviction API") {
		t.Errorf("evicted: condition Ready is %+v, errorMessage %q", c, s.app.Status.AppState.ErrorMessage)
	}
	s.untilRun(t, 2)
	if err := w.Client.Delete(t.Context(), s.driver(t)); err != nil {
		t.Fatal(err)
	}
	s.ends(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, failed),
		runs:   2, submissions: 2, reason: "DriverDeleted", says: []string{"deleted"},
		events: []string{"SparkApplicationFailed", "SparkApplicationPendingRerun", "SparkApplicationSubmitted", "SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning"},
	})
}

// outlived checks that the end of the driver ends the run, even if a sidecar continues. The first run fails, and its
// pod is deleted for the second run, which succeeds.
func (w *world) outlived(t *testing.T) {
	app := w.told(t, "outlived", []string{"told"}, func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = onceAgain()
		a.Spec.Driver.Template = raw(`{"spec": {"terminationGracePeriodSeconds": 2, "containers": [
			{"name": "spark-kubernetes-driver"},
			{"name": "beside", "image": "` + *a.Spec.Image + `", "command": ["sleep", "infinity"]}]}}`)
	})
	w.tell(t, app, "fail")
	s := w.begin(t, app)
	s.untilState(t, failing)
	s.besideRuns(t)
	w.tellNext(t, app, "end")
	s.until(t, patience, "the end", func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == completed })
	s.besideRuns(t)
	s.ends(t, ending{
		states: states(created, submitted, running, failing, rerun, submitted, running, completed),
		runs:   2, submissions: 2, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationPendingRerun", "SparkApplicationSubmitted", "SparkApplicationSubmitted",
			"SparkDriverFailed", "SparkDriverRunning", "SparkDriverRunning"},
	})
	if len(s.told) != 1 || !contains(s.told[0], []string{"driver container failed", "exit code 1", "failing as it was told"}) {
		t.Errorf("the failures were told as %q", s.told)
	}
}

// besideRuns checks that the sidecar still runs after the driver has ended.
func (s *story) besideRuns(t *testing.T) {
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
