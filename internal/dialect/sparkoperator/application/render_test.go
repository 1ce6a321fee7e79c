package application

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

var update = flag.Bool("update", false, "write the golden files")

func createAttempt(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: n}
}

func render(t *testing.T, app *v1beta2.SparkApplication, attempt int32) submit.Objects {
	t.Helper()

	objects, err := usual.Render(app, createAttempt(attempt), sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func all(o submit.Objects) []submit.Object {
	return append(append([]submit.Object{}, o.Before...), o.Driver)
}

// TestExamples compares the rendered objects of the documented examples with golden files. If a change is intended, run
// the test with -update and read the difference.
func TestExamples(t *testing.T) {
	for _, name := range []string{"spark-pi", "spark-pi-python", "spark-pi-spark-submit", "spark-pi-metrics",
		"spark-pi-volcano", "spark-pi-coscheduling", "spark-pi-yunikorn", "spark-pi-kueue"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../../../examples", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}

			var app v1beta2.SparkApplication
			if err := yaml.UnmarshalStrict(text, &app); err != nil {
				t.Fatal(err)
			}

			app.UID = "11111111-2222-4333-8444-555555555555"
			if wrong := validate.Spec(&app); len(wrong) > 0 {
				t.Fatalf("the example is invalid: %v", wrong)
			}

			var got bytes.Buffer
			for _, object := range all(render(t, &app, 1)) {
				text, err := yaml.Marshal(readable(object))
				if err != nil {
					t.Fatal(err)
				}

				got.WriteString("---\n")
				got.Write(text)
			}

			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}

			app.Spec.Suspend = nil // of the queue's example

			plan := usual.Decide(&app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
			if len(plan.Actions) != 1 {
				t.Fatalf("it is not launched: %+v", plan)
			}

			checkBuilt(t, usual, &app, plan, sparkapp.T0)
		})
	}
}

// readable returns an object in the form of the golden files, in which the data of a Secret is plain text.
func readable(object submit.Object) submit.Object {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object
	}

	secret = secret.DeepCopy()

	secret.StringData = map[string]string{}
	for key, data := range secret.Data {
		secret.StringData[key] = string(data)
	}

	secret.Data = nil
	return secret
}

// TestIdentity checks that every object of an attempt has the labels that identify the application and the attempt,
// even if the user sets the same labels.
func TestIdentity(t *testing.T) {
	theirs := map[string]string{sparkoperator.LabelAppName: "x", sparkoperator.LabelSubmissionID: "x",
		sparkoperator.LabelAppUID: "x", sparkoperator.LabelAttempt: "99", sparkoperator.LabelManaged: "no", "team": "a",
		"kueue.x-k8s.io/queue-name": "q"}
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Labels, a.Spec.Driver.Labels, a.Spec.Executor.Labels = theirs, theirs, theirs
		a.Spec.Driver.ServiceLabels = theirs
	})

	app.Labels = map[string]string{"team": "a", "kueue.x-k8s.io/queue-name": "q", sparkoperator.LabelAppUID: "x"}
	for _, object := range all(render(t, app, 3)) {
		for label, want := range map[string]string{
			sparkoperator.LabelAppName: "pi", sparkoperator.LabelAppUID: string(app.UID),
			sparkoperator.LabelAttempt: "3", sparkoperator.LabelManaged: "true", sparkoperator.LabelLaunchedBy: "true",
			sparkoperator.LabelSubmissionID: lifecycle.AttemptID(string(app.UID), 3),
		} {
			if got := object.GetLabels()[label]; got != want {
				t.Errorf("%T %s: label %s is %q, want %q", object, object.GetName(), label, got, want)
			}
		}

		if object.GetNamespace() != "jobs" || !ownedBy(object, app) {
			t.Errorf("%T %s is in %s, owned by %+v", object, object.GetName(), object.GetNamespace(),
				object.GetOwnerReferences())
		}
	}
}

func ownedBy(object metav1.Object, app *v1beta2.SparkApplication) bool {
	for _, ref := range object.GetOwnerReferences() {
		if ref.UID == app.UID && ref.Kind == "SparkApplication" && ref.APIVersion == "sparkoperator.k8s.io/v1beta2" {
			return true
		}
	}
	return false
}

// TestDriverIsWhatTheControllerFinds checks that the application is the controller of the driver pod, and that the
// attempt and the hash of the spec can be read from the pod.
func TestDriverIsWhatTheControllerFinds(t *testing.T) {
	app := sparkapp.Sample()
	driver := render(t, app, 2).Driver

	ref := metav1.GetControllerOf(driver)
	if ref == nil || ref.UID != app.UID || driver.Name != "pi-driver" {
		t.Errorf("driver %s, controller %+v", driver.Name, ref)
	}

	d := lifecycle.DriverFacts(driver, sparkoperator.DriverContainer)
	if d.Attempt != 2 || d.SpecHash != specification.Hash(&app.Spec) || !strings.HasPrefix(d.AppID, "spark-") {
		t.Errorf("facts %+v", d)
	}

	for _, c := range driver.Spec.Containers {
		if c.Name == sparkoperator.DriverContainer &&
			c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
			t.Errorf("a failure's last words are not kept: %s", c.TerminationMessagePolicy)
		}
	}
}

// TestRenderIsPure checks that rendering one attempt twice returns equal objects, that the objects of another attempt
// have other names, and that rendering does not change the application.
func TestRenderIsPure(t *testing.T) {
	app := sparkapp.Sample()
	before := app.DeepCopy()

	first, again, second := render(t, app, 1), render(t, app, 1), render(t, app, 2)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same attempt differs:\n%s", diff)
	}

	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("the application was changed:\n%s", diff)
	}

	names := map[string]bool{}
	for _, object := range first.Before {
		names[object.GetName()] = true
	}

	for _, object := range second.Before {
		if names[object.GetName()] {
			t.Errorf("%s is of both attempts", object.GetName())
		}
	}
}

// TestRememberedIDs checks that an attempt keeps the submission id in the status, even if the operator would now
// compute a different id.
func TestRememberedIDs(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Status.SubmissionID, a.Status.Operator = "remembered", &v1beta2.OperatorStatus{Phase: "Launched", Attempt: 2}
	})
	if got := render(t, app, 2).Driver.Labels[sparkoperator.LabelSubmissionID]; got != "remembered" {
		t.Errorf("attempt 2 has the id %s", got)
	}

	if got := render(t, app, 3).Driver.Labels[sparkoperator.LabelSubmissionID]; got != lifecycle.AttemptID(string(app.UID), 3) {
		t.Errorf("attempt 3 has the id %s", got)
	}
}

// TestLongNames checks that the API server would accept the objects of an application with any valid name.
func TestLongNames(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 40), strings.Repeat("a", 63),
		strings.Repeat("a-", 31) + "a"} {
		app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Name = name })
		for _, object := range all(render(t, app, 1)) {
			problems := validation.IsDNS1123Subdomain(object.GetName())
			if _, isService := object.(*corev1.Service); isService {
				problems = validation.IsDNS1035Label(object.GetName())
			}

			if len(problems) > 0 {
				t.Errorf("%T %s: %v", object, object.GetName(), problems)
			}

			for key, value := range object.GetLabels() {
				if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
					t.Errorf("label %s=%s: %v", key, value, problems)
				}
			}
		}
		// A driver's pod name may be longer than a host name. Executors connect to the driver's Service, and the
		// kubelet cuts the host name.
		objects := render(t, app, 1)
		if driver := objects.Driver; driver.Name != name+"-driver" || driver.Spec.Hostname != "" {
			t.Errorf("the driver is %s, its host name %q", driver.Name, driver.Spec.Hostname)
		}

		var service string
		for _, object := range objects.Before {
			if s, ok := object.(*corev1.Service); ok {
				service = s.Name
			}
		}

		settings := ""
		for _, object := range objects.Before {
			if c, ok := object.(*corev1.ConfigMap); ok {
				settings += c.Data["spark.properties"]
			}
		}

		if host := "spark.driver.host=" + service + "." + app.Namespace + ".svc\n"; service == "" ||
			!strings.Contains(settings, host) {
			t.Errorf("the configuration of executors lacks %q", host)
		}
	}
}

// TestRefusals checks that the error about a rejected application names the field that the user wrote.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		field string
		edit  func(*v1beta2.SparkApplication)
	}{
		{"spec.driver.memory", func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = new("lots") }},
		{"spec.driver.memoryLimit", func(a *v1beta2.SparkApplication) { a.Spec.Driver.MemoryLimit = new("much") }},
		{"spec.driver.coreRequest", func(a *v1beta2.SparkApplication) { a.Spec.Driver.CoreRequest = new("a few") }},
		{"spec.driver.volumeMounts[0].name", func(a *v1beta2.SparkApplication) {
			a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/x"}}
		}},
		{"spec.executor.template", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":7}}`)}
		}},
		{"spec.mainClass", func(a *v1beta2.SparkApplication) { a.Spec.MainClass = nil }},
		// spark-submit would take such a file name for an option. A URI with a scheme is always a file, whatever it
		// begins with.
		{"spec.mainApplicationFile",
			func(a *v1beta2.SparkApplication) { a.Spec.MainApplicationFile = "--proxy-user=root" }},
		{"spec.mainApplicationFile", func(a *v1beta2.SparkApplication) { a.Spec.MainApplicationFile = "--conf" }},
	} {
		t.Run(c.field, func(t *testing.T) {
			_, err := usual.Render(sparkapp.Sample(c.edit), createAttempt(1), sparkapp.T0)

			refused, ok := errors.AsType[*dialect.FieldError](err)
			if !ok || refused.Field != c.field {
				t.Errorf("error %v (%T)", err, err)
			}
		})
	}
}

// TestOnlySubmissionsAreRendered checks that Render returns an error for a deletion, which has no objects to render.
func TestOnlySubmissionsAreRendered(t *testing.T) {
	if _, err := usual.Render(sparkapp.Sample(),
		lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1}, sparkapp.T0); err == nil {
		t.Error("a deletion was rendered")
	}
}

// TestTenancyFloor checks that the namespace, the master and the names are always those of the operator, even if the
// configuration was not validated and sets other values.
func TestTenancyFloor(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Spec.SparkConf = map[string]string{
			"spark.kubernetes.namespace": "kube-system", "spark.master": "local[*]",
			"spark.kubernetes.driver.pod.name": "chosen",
		}
	})
	for _, object := range all(render(t, app, 1)) {
		if object.GetNamespace() != "jobs" {
			t.Errorf("%T %s is in %s", object, object.GetName(), object.GetNamespace())
		}

		if config, ok := object.(*corev1.ConfigMap); ok {
			for key, text := range config.Data {
				if strings.Contains(text, "kube-system") || strings.Contains(text, "local[*]") {
					t.Errorf("%s of %s says:\n%s", key, config.Name, text)
				}
			}
		}
	}
}

// TestNoFileIsRead checks that a configuration key that names a file on the submitter's disk is rejected, and that the
// file is not read. This must hold even if the configuration was not validated.
func TestNoFileIsRead(t *testing.T) {
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	for _, key := range []string{"spark.kubernetes.driver.podTemplateFile",
		"spark.kubernetes.executor.podTemplateFile"} {
		app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.SparkConf = map[string]string{key: token} })
		if _, err := usual.Render(app, createAttempt(1), sparkapp.T0); err == nil ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("%s: error %v", key, err)
		}
	}
}
