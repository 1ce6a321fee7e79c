package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// patience is the timeout for one application. It is long, because two cores run several JVMs at the same time.
const patience = 6 * time.Minute

// failures is the directory in the Spark image that contains small Python programs, each of which fails in its own way.
const failures = "local:///opt/spark/examples/src/main/python/failures/"

var piLine = regexp.MustCompile(`Pi is roughly 3\.\d+`)

// examples runs the repository's examples unchanged and checks the result in the driver's log.
func (w *suite) examples(t *testing.T) {
	for _, file := range []string{"spark-pi.yaml", "spark-pi-python.yaml"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			app := w.example(t, file, nil)
			w.create(t, app)
			w.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)

			if log := w.driverLog(t, app); !piLine.MatchString(log) {
				t.Errorf("no result in the driver's log:\n%s", log)
			}

			if got := app.Status.ExecutionAttempts; got != 1 {
				t.Errorf("executionAttempts is %d, want 1", got)
			}

			if c := condition(app, "Succeeded"); c.Status != metav1.ConditionTrue {
				t.Errorf("condition Succeeded is %+v", c)
			}

			if len(app.Status.ExecutorState) != int(*app.Spec.Executor.Instances) {
				t.Errorf("executorState is %v, want %d executors", app.Status.ExecutorState,
					*app.Spec.Executor.Instances)
			}

			w.awaitEvent(t, app, "SparkApplicationCompleted",
				func(e corev1.Event) bool { return e.Reason == "SparkApplicationCompleted" })
			w.remove(t, app)
		})
	}
}

// rejectedSpecs checks that the API server rejects invalid applications.
func (w *suite) rejectedSpecs(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(spec map[string]any)
		want   string
	}{
		{"no driver", func(spec map[string]any) { delete(spec, "driver") }, "spec.driver: Required value"},
		{"invalid memory", func(spec map[string]any) { spec["driver"].(map[string]any)["memory"] = "lots" },
			"spec.driver.memory"},
		{"no executor instances", func(spec map[string]any) { spec["executor"].(map[string]any)["instances"] = int64(0) }, "spec.executor.instances"},
		{"unknown type", func(spec map[string]any) { spec["type"] = "Fortran" }, "spec.type: Unsupported value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) { a.Name = "refused" })

			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
			if err != nil {
				t.Fatal(err)
			}

			test.change(content["spec"].(map[string]any))

			err = w.Client.Create(t.Context(), &unstructured.Unstructured{Object: content}, client.DryRunAll)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to name %q", err, test.want)
			}
		})
	}
}

// brokenApplication is an application that cannot succeed, with the diagnosis that the operator must report.
type brokenApplication struct {
	name        string
	app         func(*v1beta2.SparkApplication)
	state       v1beta2.ApplicationStateType // expected state, final or not
	reason      string                       // reason of the Ready condition
	wantMessage []string                     // texts that the message of the condition and of an event must contain
	refused     bool                         // true if the webhook rejects the application with this message
	log         string                       // text that the driver's log must have
}

// brokenApplications checks that each broken application reaches its expected state. The message in the status and an
// event must name the cause, and no dependents may remain after the application is deleted.
func (w *suite) brokenApplications(t *testing.T) {
	powerless := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "powerless", Namespace: "default"}}
	if err := w.Client.Create(t.Context(), powerless); err != nil {
		t.Fatal(err)
	}

	for _, test := range []brokenApplication{
		{
			name:  "no-such-image",
			app:   func(a *v1beta2.SparkApplication) { a.Spec.Image = new("docker.io/apache/spark:no-such-tag") },
			state: v1beta2.ApplicationStateSubmitted, reason: "ImagePull",
			wantMessage: []string{"docker.io/apache/spark:no-such-tag"},
		},
		{
			name:  "no-such-class",
			app:   func(a *v1beta2.SparkApplication) { a.Spec.MainClass = new("org.example.NoSuchClass") },
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{"org.example.NoSuchClass"},
		},
		{
			name: "no-such-file",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Type, a.Spec.MainClass = v1beta2.SparkApplicationTypePython, nil
				a.Spec.MainApplicationFile = "local:///opt/spark/no-such-file.py"
			},
			// Python reports the missing file. Spark's driver exits as soon as Python does, so its log may lack this
			// message.
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{"exit code 2"},
		},
		{
			name: "exits",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Type, a.Spec.MainClass = v1beta2.SparkApplicationTypePython, nil
				a.Spec.MainApplicationFile, a.Spec.Arguments = failures+"exits_with.py", []string{"3"}
			},
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{"exiting with 3 on purpose", "exit code 3"},
		},
		{
			name: "out-of-memory",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Type, a.Spec.MainClass = v1beta2.SparkApplicationTypePython, nil
				a.Spec.MainApplicationFile, a.Spec.Arguments = failures+"memory_hog.py", nil
			},
			state: v1beta2.ApplicationStateFailed, reason: "OOMKilled", wantMessage: []string{"137"},
		},
		{
			name:  "no-such-account",
			app:   func(a *v1beta2.SparkApplication) { a.Spec.Driver.ServiceAccount = new("no-such-account") },
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{`serviceaccount "no-such-account" not found`},
		},
		{
			name: "account-without-rights",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Driver.ServiceAccount = new("powerless")
				a.Spec.SparkConf = map[string]string{"spark.log.structuredLogging.enabled": "true"}
			},
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{"powerless", "has no right to get pods"},
			log: `{"ts":"`,
		},
		{
			name: "undecodable-template",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Driver.Template = raw(`{"spec": {"containers": "lots"}}`)
			},
			state: v1beta2.ApplicationStateFailed, wantMessage: []string{"spec.driver.template"},
			refused: true,
		},
		{
			name: "denied-key",
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.SparkConf = map[string]string{"spark.kubernetes.namespace": "kube-system"}
			},
			state:       v1beta2.ApplicationStateFailed,
			wantMessage: []string{"spark.kubernetes.namespace", "is not allowed"},
			refused:     true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w.brokenApplication(t, test)
		})
	}
}

func (w *suite) brokenApplication(t *testing.T, test brokenApplication) {
	app := w.example(t, "spark-pi.yaml", test.app)

	app.Name = test.name
	if test.refused {
		if err := w.Client.Create(t.Context(), app.DeepCopy()); err == nil ||
			!contains(err.Error(), append(slices.Clone(test.wantMessage), "admission webhook")) {
			t.Errorf("the creation returned %v, want a refusal by the webhook with %q", err, test.wantMessage)
		}

		if err := w.unreviewedClient(t).Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	} else {
		w.create(t, app)
	}

	w.await(t, app, patience, string(test.state)+" with its cause", func(a *v1beta2.SparkApplication) bool {
		ready := condition(a, "Ready")
		return a.Status.AppState.State == test.state && strings.Contains(ready.Reason, test.reason) &&
			contains(ready.Message, test.wantMessage)
	})

	ready := condition(app, "Ready")
	if ready.Status != metav1.ConditionFalse || ready.Reason == "" {
		t.Errorf("condition Ready is %+v, want False with a reason", ready)
	}

	if test.state == v1beta2.ApplicationStateFailed {
		if !contains(app.Status.AppState.ErrorMessage, test.wantMessage) {
			t.Errorf("errorMessage %q does not contain %q", app.Status.AppState.ErrorMessage, test.wantMessage)
		}

		for kind, want := range map[string]metav1.ConditionStatus{"Failed": metav1.ConditionTrue,
			"Stalled": metav1.ConditionTrue, "Reconciling": ""} {
			if c := condition(app, kind); c.Status != want { // an absent condition has an empty status
				t.Errorf("condition %s is %+v, want %q", kind, c, want)
			}
		}
	}

	w.awaitEvent(t, app, "an event with the cause", func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && contains(e.Message, test.wantMessage)
	})

	if test.log != "" && !strings.Contains(w.driverLog(t, app), test.log) {
		t.Errorf("the driver's log does not contain %s", test.log)
	}

	if strings.Contains(ready.Message, `{"ts":"`) {
		t.Errorf("the message has an entry of a log in JSON: %s", ready.Message)
	}

	w.remove(t, app)
}

// retries checks that a failing application is retried as often as its policy allows and then fails.
func (w *suite) retries(t *testing.T) {
	app := w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "retries"
		a.Spec.MainApplicationFile, a.Spec.Arguments = failures+"throws.py", []string{"thrown again"}
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1))}
	})
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateFailed)

	if got := app.Status.ExecutionAttempts; got != 2 {
		t.Errorf("executionAttempts is %d, want 2", got)
	}

	if !strings.Contains(app.Status.AppState.ErrorMessage, "thrown again") {
		t.Errorf("errorMessage does not contain the cause: %q", app.Status.AppState.ErrorMessage)
	}

	w.remove(t, app)
}

// survivesRestart deletes the operator's pod while an application runs. The application must still complete in its
// first attempt. Other tests start as soon as the operator is ready again.
func (w *suite) survivesRestart(t *testing.T) {
	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "survives"
		a.Spec.Executor.Instances = new(int32(1))
	})
	w.create(t, app)
	w.await(t, app, patience, "the driver to be submitted",
		func(a *v1beta2.SparkApplication) bool { return a.Status.SubmissionID != "" })
	submission := app.Status.SubmissionID

	namespace, controllers := client.InNamespace(cluster.Namespace),
		client.MatchingLabels{"app.kubernetes.io/component": "controller"}
	if err := w.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, namespace, controllers,
		client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	eventually(t, patience, "an operator that is ready", func() (string, bool) {
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, namespace, controllers); err != nil {
			return err.Error(), false
		}
		return "no pod is ready", slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return podReady(&pod) })
	})

	if !*wholeLife {
		t.Parallel()
	}

	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)

	inFirstAttempt(t, app, submission)
	w.remove(t, app)
}

// inFirstAttempt checks that an application is still in its first attempt, with its first submission.
func inFirstAttempt(t *testing.T, app *v1beta2.SparkApplication, submission string) {
	t.Helper()

	if got := app.Status; got.SubmissionID != submission || got.ExecutionAttempts != 1 || got.SubmissionAttempts != 1 {
		t.Errorf("submission %s, %d runs, %d submissions; want %s, 1, 1", got.SubmissionID, got.ExecutionAttempts,
			got.SubmissionAttempts, submission)
	}
}

// deletedWhileRunning checks that deleting an application deletes its driver and its executors.
func (w *suite) deletedWhileRunning(t *testing.T) {
	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "deleted"
		a.Spec.MainClass, a.Spec.Arguments = new("dev.sparkoperator.failures.Sleeps"), nil
		a.Spec.MainApplicationFile = "local:///opt/spark/examples/jars/spark-failures.jar"
		a.Spec.Executor.Instances = new(int32(1))
	})
	w.create(t, app)
	w.await(t, app, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running > 0
	})

	if state := app.Status.AppState.State; state != v1beta2.ApplicationStateRunning {
		t.Errorf("the state is %s with a running executor", state)
	}

	w.remove(t, app)
}

func contains(text string, all []string) bool {
	return !slices.ContainsFunc(all, func(want string) bool { return !strings.Contains(text, want) })
}
