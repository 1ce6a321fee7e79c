package application

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const (
	auto        = dialect.SubmissionAuto
	onlyNative  = dialect.SubmissionNative
	sparkSubmit = dialect.SubmissionSparkSubmit
)

func submittedBy(mode dialect.SubmissionMode) func(*v1beta2.SparkApplication) {
	return func(a *v1beta2.SparkApplication) {
		a.Spec.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionMode(mode)}
	}
}

// step is a change that adds a feature step of Spark that only a JVM can run. Therefore only spark-submit can build the
// driver.
var step = sparkapp.WithConf("spark.kubernetes.driver.pod.featureSteps", "org.example.Step")

// volcanoStep is a change that adds a feature step of Spark that native.Build supports. However, the step creates an
// object that the operator has no right to create.
var volcanoStep = sparkapp.WithConf("spark.kubernetes.driver.pod.featureSteps",
	"org.apache.spark.deploy.k8s.features.VolcanoFeatureStep")

// driverClaim is the prefix of the keys of a driver's volumes that are claims.
const driverClaim = "spark.kubernetes.driver.volumes.persistentVolumeClaim."

// demand is a change that adds a volume for which Spark would create a PersistentVolumeClaim for the driver.
var demand = sparkapp.WithConf(driverClaim+"data.options.claimName", "OnDemand",
	driverClaim+"data.options.storageClass", "fast",
	driverClaim+"data.options.sizeLimit", "1Gi", driverClaim+"data.mount.path", "/data")

// TestModesAreThoseOfTheField checks that the modes have the values of the field spec.submission.mode.
func TestModesAreThoseOfTheField(t *testing.T) {
	for mode, want := range map[dialect.SubmissionMode]v1beta2.SubmissionMode{
		auto: v1beta2.SubmissionModeAuto, onlyNative: v1beta2.SubmissionModeNative,
		sparkSubmit: v1beta2.SubmissionModeSparkSubmit,
	} {
		if string(mode) != string(want) {
			t.Errorf("%q, want %q", mode, want)
		}
	}
}

// TestSubmissionMode checks the submission mode for each combination of the operator's configuration and the
// application's choice. If the combination is rejected, it checks the message.
func TestSubmissionMode(t *testing.T) {
	plain := func(*v1beta2.SparkApplication) {}
	for _, c := range []struct {
		name     string
		operator dialect.SubmissionMode
		app      []func(*v1beta2.SparkApplication)
		why      string // of spark-submit; empty: the operator itself
		refused  string // field|words
	}{
		{"no choice", "", []func(*v1beta2.SparkApplication){plain}, "", ""},
		{"auto", auto, []func(*v1beta2.SparkApplication){submittedBy(auto)}, "", ""},
		{"auto, with a step", auto, []func(*v1beta2.SparkApplication){step},
			"spec.sparkConf[spark.kubernetes.driver.pod.featureSteps]: ", ""},
		{"auto, with a pattern", "",
			[]func(*v1beta2.SparkApplication){func(a *v1beta2.SparkApplication) { a.Spec.Deps.Jars = []string{"s3a://b/*.jar"} }},
			"spec.deps.jars: ", ""},
		{"auto, with the main class in a remote jar", "",
			[]func(*v1beta2.SparkApplication){func(a *v1beta2.SparkApplication) {
				a.Spec.MainClass, a.Spec.MainApplicationFile = nil, "s3a://b/a.jar"
			}}, "spec.mainClass: ", ""},
		{"auto, with a claim for the driver", "", []func(*v1beta2.SparkApplication){demand},
			"claimName]: requests a new claim", ""},
		{"auto, with Volcano's own step", "", []func(*v1beta2.SparkApplication){volcanoStep}, "needs a PodGroup", ""},
		{"native, with Volcano's own step", "",
			[]func(*v1beta2.SparkApplication){submittedBy(onlyNative), volcanoStep}, "",
			"spec.sparkConf[spark.kubernetes.driver.pod.featureSteps]|no right to create"},
		{"auto, with an invalid memory size", "",
			[]func(*v1beta2.SparkApplication){step,
				func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = new("lots") }}, "",
			"spec.driver.memory|lots"},
		{"spark-submit", "", []func(*v1beta2.SparkApplication){submittedBy(sparkSubmit)},
			"spec.submission.mode is SparkSubmit", ""},
		{"spark-submit, without a main class", "",
			[]func(*v1beta2.SparkApplication){submittedBy(sparkSubmit),
				func(a *v1beta2.SparkApplication) { a.Spec.MainClass = nil }}, "",
			"spec.mainClass|main class"},
		{"native", "", []func(*v1beta2.SparkApplication){submittedBy(onlyNative)}, "", ""},
		{"native, with a step", "", []func(*v1beta2.SparkApplication){submittedBy(onlyNative), step}, "",
			"spec.sparkConf[spark.kubernetes.driver.pod.featureSteps]|spec.submission.mode Auto or SparkSubmit"},
		{"native, with a claim for the driver", "",
			[]func(*v1beta2.SparkApplication){submittedBy(onlyNative), demand}, "",
			"spec.sparkConf[" + driverClaim + "data.options.claimName]|create the claim yourself"},

		{"the operator requires spark-submit", sparkSubmit, []func(*v1beta2.SparkApplication){plain},
			"the operator's configuration requires it (submission.mode: SparkSubmit)", ""},
		{"the operator requires spark-submit, the application overrides it", sparkSubmit,
			[]func(*v1beta2.SparkApplication){submittedBy(auto)}, "", ""},
		{"the operator requires native", onlyNative, []func(*v1beta2.SparkApplication){plain}, "", ""},
		{"switched off, with a step", onlyNative, []func(*v1beta2.SparkApplication){submittedBy(auto), step}, "",
			"spec.sparkConf[spark.kubernetes.driver.pod.featureSteps]|switched off by the operator's configuration"},
		{"switched off, but requested", onlyNative, []func(*v1beta2.SparkApplication){submittedBy(sparkSubmit)}, "",
			"spec.submission.mode|switched off"},

		{"a denied key that was not validated", "",
			[]func(*v1beta2.SparkApplication){sparkapp.WithConf("spark.kubernetes.authenticate.driver.caCertFile",
				"/ca")}, "",
			"spec.sparkConf[spark.kubernetes.authenticate.driver.caCertFile]|is not allowed"},
		{"a denied key that was not validated, with spark-submit", "",
			[]func(*v1beta2.SparkApplication){submittedBy(sparkSubmit),
				sparkapp.WithConf("spark.kubernetes.driver.podTemplateFile", "/t")}, "",
			"spec.sparkConf[spark.kubernetes.driver.podTemplateFile]|is not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Dialect{Options{Submission: c.operator}}

			objects, why, err := d.buildAttempt(sparkapp.Sample(c.app...), 1, sparkapp.T0)
			if c.refused != "" {
				field, says, _ := strings.Cut(c.refused, "|")
				if wrong, ok := errors.AsType[*dialect.FieldError](err); !ok || wrong.Field != field ||
					!strings.Contains(wrong.Message, says) {
					t.Errorf("error %v, want %s with %q", err, field, says)
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}

			runs := objects.Driver.Labels["spark-role"] == submit.RoleSubmitter
			if runs != (c.why != "") || runs != (why != nil) {
				t.Fatalf("made by spark-submit: %t, because of %v; want %q", runs, why, c.why)
			}

			if runs && !strings.Contains(why.Message, c.why) {
				t.Errorf("because of %q, want %q", why.Message, c.why)
			}
		})
	}
}

// TestRunnerIsWhatTheControllerFinds checks that the pod that runs spark-submit, and the driver that it will create,
// have the labels that identify the application, the attempt and the spec.
func TestRunnerIsWhatTheControllerFinds(t *testing.T) {
	app := sparkapp.Sample(submittedBy(sparkSubmit), func(a *v1beta2.SparkApplication) {
		a.Spec.Driver.ServiceAccount = new("drivers")
		a.Spec.Driver.Labels = map[string]string{sparkoperator.LabelAppUID: "stolen"}
	})
	objects := render(t, app, 2)

	pod := objects.Driver
	if ref := metav1.GetControllerOf(pod); ref == nil || ref.UID != app.UID ||
		pod.Spec.ServiceAccountName != "drivers" {
		t.Errorf("the runner runs as %q, its controller is %+v", pod.Spec.ServiceAccountName, ref)
	}

	if got := lifecycle.SubmitterFacts(pod, submit.RunnerContainer); got.Attempt != 2 ||
		got.SpecHash != specification.Hash(&app.Spec) {
		t.Errorf("facts %+v", got)
	}

	secret := objects.Before[0].(*corev1.Secret)

	settings, err := conf.UnmarshalProperties(string(secret.Data["spark.properties"]))
	if err != nil {
		t.Fatal(err)
	}

	for key, want := range map[string]string{
		"spark.kubernetes.driver.label." + sparkoperator.LabelAppUID:    string(app.UID),
		"spark.kubernetes.driver.label." + sparkoperator.LabelAttempt:   "2",
		"spark.kubernetes.executor.label." + sparkoperator.LabelAppUID:  string(app.UID),
		"spark.kubernetes.executor.label." + sparkoperator.LabelAttempt: "2",
		"spark.kubernetes.driver.pod.name":                              "pi-driver",
		"spark.kubernetes.namespace":                                    "jobs",
	} {
		if got, _ := settings.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}

	for _, says := range []string{string(app.UID), pod.Name, specification.Hash(&app.Spec),
		lifecycle.SubmitterAnnotation} {
		if !strings.Contains(string(secret.Data["driver.json"]), says) {
			t.Errorf("the driver's template does not say %s:\n%s", says, secret.Data["driver.json"])
		}
	}
}

// TestStatusOfASubmission checks that the status contains the application id that spark-submit generates. The id is
// unknown before the driver exists, and stays in the status after the driver has ended.
func TestStatusOfASubmission(t *testing.T) {
	app := sparkapp.Sample(submittedBy(sparkSubmit))

	plan := usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
	if len(plan.Actions) != 1 || app.Status.SparkApplicationID != "" ||
		app.Status.AppState.State != v1beta2.ApplicationStateSubmitted {
		t.Errorf("launched: plan %+v, id %q, state %s", plan.Actions, app.Status.SparkApplicationID,
			app.Status.AppState.State)
	}

	ready := metav1.Condition{}
	for _, c := range app.Status.Conditions {
		if c.Type == dialect.ConditionReady {
			ready = c
		}
	}

	if ready.Reason != "SparkSubmit" || !strings.Contains(ready.Message, "spec.submission.mode is SparkSubmit") {
		t.Errorf("Ready is %+v", ready)
	}

	submitter := lifecycle.Submitter{Name: "s", Attempt: 1, Phase: lifecycle.DriverRunning}
	usual.Decide(app, lifecycle.Observed{Submitters: []lifecycle.Submitter{submitter}}, sparkapp.T0)

	if id := app.Status.SparkApplicationID; id != "" {
		t.Errorf("submitting: id %q", id)
	}

	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, AppID: "spark-of-spark"}
	usual.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}, sparkapp.T0)
	usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)

	if id := app.Status.SparkApplicationID; id != "spark-of-spark" ||
		app.Status.AppState.State != v1beta2.ApplicationStateFailed {
		t.Errorf("the driver is gone: id %q, state %s", id, app.Status.AppState.State)
	}
}

// TestFailedSubmissionIsTold checks that the application's error message contains the end of the output of a failed
// spark-submit.
func TestFailedSubmissionIsTold(t *testing.T) {
	app := sparkapp.Sample(submittedBy(sparkSubmit))
	usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)

	failed := lifecycle.Submitter{Name: "s", Attempt: 1, Phase: lifecycle.DriverFailed,
		Why: lifecycle.Cause{Reason: "Error", Message: "spark-submit container failed with exit code 1: no jar"}}
	usual.Decide(app, lifecycle.Observed{Submitters: []lifecycle.Submitter{failed}, Confirmed: true}, sparkapp.T0)

	s := app.Status
	if s.AppState.State != v1beta2.ApplicationStateFailed || !strings.Contains(s.AppState.ErrorMessage, "no jar") ||
		s.ExecutionAttempts != 0 || s.SubmissionAttempts != 1 {
		t.Errorf("%+v, %d runs of %d submissions", s.AppState, s.ExecutionAttempts, s.SubmissionAttempts)
	}
}

// TestRunnerRenderIsPure checks that rendering returns the same spark-submit pod and the same immutable Secret at any
// time.
func TestRunnerRenderIsPure(t *testing.T) {
	app := sparkapp.Sample(submittedBy(sparkSubmit))

	first, err := usual.Render(app, createAttempt(1), sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	again, err := usual.Render(app, createAttempt(1), sparkapp.T0.Add(1e12))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("it differs:\n%s", diff)
	}
}
