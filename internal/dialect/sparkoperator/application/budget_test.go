package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

var makeBudget = lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 3}

// TestDriverBudget checks the parts of the PodDisruptionBudget that tools of this API expect: the driver's name and
// labels, and a selector that selects only the driver pod.
func TestDriverBudget(t *testing.T) {
	const want = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: pi-driver
  namespace: jobs
  labels:
    sparkoperator.dev/app-uid: 11111111-2222-4333-8444-555555555555
    sparkoperator.dev/attempt: "3"
    sparkoperator.dev/managed: "true"
    sparkoperator.k8s.io/app-name: pi
    sparkoperator.k8s.io/launched-by-spark-operator: "true"
    sparkoperator.k8s.io/scheduled-app-name: nightly
    sparkoperator.k8s.io/submission-id: ID
  ownerReferences:
  - {apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, name: pi, uid: 11111111-2222-4333-8444-555555555555, controller: true, blockOwnerDeletion: true}
spec: {minAvailable: 1, selector: {matchLabels: {sparkoperator.k8s.io/app-name: pi, spark-role: driver}}}
`
	app := sparkapp.Of(t, `metadata: {labels: {sparkoperator.k8s.io/scheduled-app-name: nightly}}`,
		`spec: {driverPodDisruptionBudget: true}`)

	objects, err := Dialect{}.Render(app, makeBudget, sparkapp.T0)
	if err != nil || len(objects.Before) != 1 || objects.Driver != nil {
		t.Fatalf("rendered %+v, %v", objects, err)
	}

	got := fieldtable.Plain(t, objects.Before[0])
	delete(got, "status")
	delete(got["metadata"].(map[string]any), "creationTimestamp")
	got["metadata"].(map[string]any)["labels"].(map[string]any)[sparkoperator.LabelSubmissionID] = "ID"

	var tree map[string]any
	if err := yaml.Unmarshal([]byte(want), &tree); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(tree, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDriverBudgetIsTheDrivers checks that the PodDisruptionBudget has the name of the driver pod and selects labels
// that the driver pod has, even if the user sets the driver's name and labels.
func TestDriverBudgetIsTheDrivers(t *testing.T) {
	for _, piece := range []string{
		`spec: {}`, `spec: {driver: {podName: mine}}`, `spec: {sparkConf: {spark.kubernetes.driver.pod.name: mine}}`,
		`spec: {driver: {labels: {sparkoperator.k8s.io/app-name: other}}}`,
	} {
		app := sparkapp.Of(t, piece, `spec: {driverPodDisruptionBudget: true}`)

		launch, err := Dialect{}.Render(app,
			lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 3}, sparkapp.T0)
		if err != nil {
			t.Fatal(err)
		}

		budget := driverBudget(app, 3).Before[0]
		if budget.GetName() != launch.Driver.Name {
			t.Errorf("%s: the budget is %q, the driver %q", piece, budget.GetName(), launch.Driver.Name)
		}

		selector := fieldtable.Plain(t,
			budget)["spec"].(map[string]any)["selector"].(map[string]any)["matchLabels"].(map[string]any)
		for key, value := range selector {
			if launch.Driver.Labels[key] != value {
				t.Errorf("%s: it selects %s=%s, the driver has %q", piece, key, value, launch.Driver.Labels[key])
			}
		}

		for _, other := range launch.Before {
			if other.GetLabels()[submit.RoleLabel] == submit.RoleDriver {
				t.Errorf("%s: %T %s has the driver's role", piece, other, other.GetName())
			}
		}

		for _, key := range []string{sparkoperator.LabelSubmissionID, sparkoperator.LabelAppUID,
			sparkoperator.LabelAttempt} {
			if budget.GetLabels()[key] != launch.Driver.Labels[key] {
				t.Errorf("%s: label %s is %q, the driver's %q", piece, key, budget.GetLabels()[key],
					launch.Driver.Labels[key])
			}
		}
	}
}

// TestBudgetIsAskedForWhileItRuns checks that driverPodDisruptionBudget may change at any time, and that the change
// creates or deletes the budget without a restart of the application.
func TestBudgetIsAskedForWhileItRuns(t *testing.T) {
	app := sparkapp.Sample()
	usual := Dialect{Options{MissingGrace: 10 * time.Second}}
	usual.Decide(app, lifecycle.Observed{}, sparkapp.T0)

	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: 1,
		Phase: lifecycle.DriverRunning}}, RemainingAttempts: []int32{1}}

	do := func() []lifecycle.Action { return usual.Decide(app, seen, sparkapp.T0).Actions }
	if got := do(); len(got) > 0 {
		t.Errorf("actions %v without a request", got)
	}

	app.Spec.DriverPodDisruptionBudget = new(true)

	want := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 1}}
	if diff := cmp.Diff(want, do()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}

	app.Spec.DriverPodDisruptionBudget, seen.Budgets = new(false), []int32{1}

	want[0].Verb = lifecycle.Delete
	if diff := cmp.Diff(want, do()); diff != "" {
		t.Errorf("not any more (-want +got):\n%s", diff)
	}

	if app.Status.Operator.Attempt != 1 || app.Status.Operator.Phase != string(lifecycle.Started) {
		t.Errorf("it was restarted: %+v", app.Status.Operator)
	}
}
