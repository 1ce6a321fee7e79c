package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestReviewHasTheMessageOfThePass checks that a review reports each invalid spec of docs/refused-applications.md with
// the same message as the pass that fails the application.
func TestReviewHasTheMessageOfThePass(t *testing.T) {
	for _, r := range refusals {
		app := sparkapp.Of(t, r.Piece)
		review := usual.Review(app, sparkapp.T0)

		invalid := usual.invalid(app)
		if invalid == nil || len(review.Faults) == 0 {
			t.Errorf("%s: the review has %d faults, the pass %v", r.Piece, len(review.Faults), invalid)
			continue
		}

		if got := dialect.Invalid(review.Faults).Message; got != invalid.Message {
			t.Errorf("%s: the review says %q, the pass %q", r.Piece, got, invalid.Message)
		}
	}
}

// TestReviewWarns checks that a review returns one warning for each part of the spec that has no effect, and that the
// warning names the user's field.
func TestReviewWarns(t *testing.T) {
	for piece, want := range map[string][]string{
		`{}`:                                  nil,
		`spec: {executor: {memoryLimit: 2g}}`: {"spec.executor.memoryLimit has no effect: "},
		`spec: {driver: {template: {spec: {containers: [{name: a}], capabilities: {add: [X]}}}}}`: {"spec.driver.template.spec.capabilities: has no effect at this place; a pod has this field at spec.containers[].securityContext.capabilities"},
		`spec: {executor: {template: {spec: {containers: [{name: a, imgae: b}]}}}}`:               {"spec.executor.template.spec.containers[0].imgae: is not a field of a pod"},
	} {
		review := usual.Review(sparkapp.Of(t, piece), sparkapp.T0)
		if len(review.Faults) > 0 {
			t.Errorf("%s: %v", piece, review.Faults[0])
		}

		if len(review.Warnings) != len(want) {
			t.Errorf("%s: warnings %q, want %q", piece, review.Warnings, want)
			continue
		}

		for i := range want {
			if !strings.HasPrefix(review.Warnings[i], want[i]) {
				t.Errorf("%s: warning %q, want %q", piece, review.Warnings[i], want[i])
			}
		}
	}
}

// TestRestartWarning checks that RestartWarning returns a warning about an edit that starts a new run, and no warning
// about other edits.
func TestRestartWarning(t *testing.T) {
	running := func(piece string) *v1beta2.SparkApplication {
		app := sparkapp.Of(t, piece)
		app.Status.AppState.State = v1beta2.ApplicationStateRunning
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(lifecycle.Running), Attempt: 1}
		return app
	}
	for _, test := range []struct {
		name        string
		old, edited *v1beta2.SparkApplication
		warns       bool
	}{
		{"a running application", running(`{}`), running(`spec: {image: other}`), true},
		{"an equal spec", running(`{}`), running(`{}`), false},
		{"a field that needs no run", running(`{}`), running(`spec: {timeToLiveSeconds: 7}`), false},
		{"a suspension", running(`{}`), running(`spec: {image: other, suspend: true}`), false},
		{"an application that does not run", sparkapp.Of(t, `{}`), sparkapp.Of(t, `spec: {image: other}`), false},
	} {
		if got := usual.RestartWarning(test.old, test.edited); (got != "") != test.warns {
			t.Errorf("%s: %q, want a warning: %t", test.name, got, test.warns)
		}
	}
}

// TestReviewedPods checks the pods with which an application starts. If spark-submit creates the driver pod, the pods
// contain the driver and not the pod that runs spark-submit.
func TestReviewedPods(t *testing.T) {
	for piece, want := range map[string]string{
		`{}`:                                  "1 driver of pi-driver, 2 executor",
		`spec: {executor: {instances: 1}}`:    "1 driver of pi-driver, 1 executor",
		`spec: {executor: {instances: null}}`: "1 driver of pi-driver, 1 executor",
		`spec: {dynamicAllocation: {enabled: true, initialExecutors: 5, minExecutors: 3}}`: "1 driver of pi-driver, 5 executor",
		`spec: {driver: {kubernetesMaster: local}}`:                                        "1 driver of pi-driver",
		`spec: {submission: {mode: SparkSubmit}, driver: {podName: mine}}`:                 "1 driver of mine, 2 executor",
	} {
		review := usual.Review(sparkapp.Of(t, piece), sparkapp.T0)
		if len(review.Faults) > 0 {
			t.Errorf("%s: %v", piece, review.Faults)
			continue
		}

		var got []string
		for _, pods := range review.Pods() {
			line := fmt.Sprintf("%d %s", pods.Count, pods.Role)
			if pods.Role == "driver" {
				line += " of " + pods.Pod.Name
			}

			if args := strings.Join(pods.Pod.Spec.Containers[0].Args, " "); strings.Contains(args, "spark-submit") {
				t.Errorf("%s: the %s runs %s", piece, pods.Role, args)
			}

			got = append(got, line)
		}

		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %s, want %s", piece, text, want)
		}
	}
	// The defaults of the platform count.
	d := onPlatform(platform.Settings{SparkConf: map[string]string{"spark.executor.instances": "7"}})

	pods := d.Review(sparkapp.Of(t, `spec: {executor: {instances: null}}`), sparkapp.T0).Pods()
	if len(pods) != 2 || pods[1].Count != 7 {
		t.Errorf("with a default: %d pods", len(pods))
	}
}

// TestReviewWarnsOfExposure checks that problems of the web UI are warnings, and not faults, of a review.
func TestReviewWarnsOfExposure(t *testing.T) {
	review := usual.Review(sparkapp.Of(t,
		`spec: {driverIngressOptions: [{servicePort: 0, servicePortName: a}, {servicePort: 1, servicePortName: b, ingressURLFormat: a.b}]}`), sparkapp.T0)

	want := []string{
		"spec.driverIngressOptions[0].servicePort: 0 is not a port; write a number from 1 to 65535",
		"spec.driverIngressOptions[1].ingressURLFormat: the operator creates no Ingresses; set ui.ingress.enabled: true in its configuration (chart: controller.uiIngress.enable=true)",
	}
	if len(review.Faults) > 0 || !slices.Equal(review.Warnings, want) {
		t.Errorf("faults %v, warnings %q, want %q", review.Faults, review.Warnings, want)
	}
}

// TestLaunchWarnsOfTheType checks that the launch of an application whose type contradicts its file has one warning.
func TestLaunchWarnsOfTheType(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.Type = v1beta2.SparkApplicationTypePython })
	action := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

	objects, err := usual.Render(app, action, sparkapp.T0)
	if err != nil || len(objects.Warnings) != 1 {
		t.Errorf("warnings of a Python application that is a jar: %q, %v", objects.Warnings, err)
	}
}
