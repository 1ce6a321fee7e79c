package dependents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// These tests run applications as gangs with the definitions of Volcano and of the coscheduling plugin. The schedulers
// themselves do not run: the test plays them.

// definitionsOfGroups installs the PodGroup definitions of both schedulers, once for all tests of the process. The
// definitions are not part of the repository. If they are absent on the machine, the test is skipped.
func definitionsOfGroups(w *world.World) {
	w.T.Helper()

	folder := filepath.Join(crd.Root(w.T), "..", "shared", "data", "crds")
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		w.T.Skip("the schedulers' definitions are not beside the repository (../shared/data/crds)")
	}

	for file, kind := range map[string]schema.GroupVersionKind{
		"scheduling.volcano.sh_podgroups.yaml": gang.VolcanoKind,
		"scheduling.x-k8s.io_podgroups.yaml":   gang.CoschedulingKind,
	} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil { // including one that is missing: the test is skipped only if all are missing
			w.T.Fatal(err)
		}

		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, object); err != nil {
			w.T.Fatal(err)
		}

		if err := client.IgnoreAlreadyExists(w.API.Create(w.T.Context(), object)); err != nil {
			w.T.Fatal(err)
		}

		kit.Wait(w.T, kind.String()+" to be served", func(ctx context.Context) error {
			return w.API.List(ctx, world.ListOf(kind), client.InNamespace(w.Namespace))
		})
	}
}

// runGangs starts an operator with batch schedulers switched on. It checks often for newly installed definitions, so
// that tests need not wait long.
func runGangs(w *world.World) *operator.Operator {
	w.T.Helper()
	cfg := world.Config(w.Namespace)
	cfg.BatchScheduler.Enabled, cfg.BatchScheduler.KubeSchedulerNames = true, []string{"tuned"}

	op, err := operator.NewOperator(w.T.Context(), cfg, w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	op.Optional.Interval = 20 * time.Millisecond
	w.Run(op)
	return op
}

// asGang returns a change after which the given batch scheduler places the application. The application has two
// executors.
func asGang(scheduler string) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) {
		scene.WithDriver(app)
		app.Spec.BatchScheduler = new(scheduler)
		app.Spec.Executor.Instances = new(int32(2))
	}
}

func groupOf(kind schema.GroupVersionKind, app client.Object) *unstructured.Unstructured {
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(kind)
	group.SetNamespace(app.GetNamespace())
	group.SetName(gang.VolcanoName(app.GetName()))

	if kind == gang.CoschedulingKind {
		group.SetName(gang.CoschedulingName(app.GetName()))
	}
	return group
}

// waitGroup waits for the PodGroup of an application's attempt and returns it.
func waitGroup(w *world.World, kind schema.GroupVersionKind, app client.Object,
	attempt int) *unstructured.Unstructured {
	w.T.Helper()

	group := groupOf(kind, app)
	kit.Wait(w.T, fmt.Sprintf("the pod group of attempt %d", attempt), func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
			return err
		}
		return world.Want(group.GetLabels()[identity.AttemptLabel], fmt.Sprint(attempt))
	})
	return group
}

// TestSchedulerIsNotInstalled checks that an application whose scheduler is not installed waits and reports what is
// missing. The application waits even under the default policy, which allows no retries, and is launched once the
// scheduler is installed. If the application has a deadline for the launch, the wait ends at this deadline.
//
// The test is not parallel, so it runs before the parallel tests. Those tests install the PodGroup definitions, which
// must be missing when this test begins.
func TestSchedulerIsNotInstalled(t *testing.T) {
	w := world.New(t)
	runGangs(w)
	w.Application("plain", scene.WithDriver)
	app := w.Application("pi", asGang("volcano"))
	w.Application("hurried", asGang("volcano"), world.Timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(5))}))
	w.WaitState("plain", v1beta2.ApplicationStateSubmitted)
	w.WaitReady("pi", apianswer.ReasonNotServed, "PodGroup of scheduling.volcano.sh/v1beta1",
		"CustomResourceDefinition podgroups.scheduling.volcano.sh")
	w.WaitEvent(app, apianswer.ReasonNotServed, "podgroups.scheduling.volcano.sh")

	got := w.WaitState("hurried", v1beta2.ApplicationStateFailed)
	for _, part := range []string{"within 5s", "CustomResourceDefinition podgroups.scheduling.volcano.sh"} {
		if !strings.Contains(got.Status.AppState.ErrorMessage, part) {
			t.Errorf("%q does not say %q", got.Status.AppState.ErrorMessage, part)
		}
	}

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateNew {
		t.Errorf("the waiting application is in state %s", state)
	}

	definitionsOfGroups(w)
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(groupOf(gang.VolcanoKind, app)),
		groupOf(gang.VolcanoKind, app)); err != nil {
		t.Error(err)
	}
}

// TestGangLives checks that the PodGroup exists before the driver, is created again for the next attempt, and is
// deleted at the end, although the driver's pod still exists.
func TestGangLives(t *testing.T) {
	t.Parallel()

	for scheduler, kind := range map[string]schema.GroupVersionKind{"volcano": gang.VolcanoKind,
		"tuned": gang.CoschedulingKind} {
		t.Run(scheduler, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			definitionsOfGroups(w)
			runGangs(w)
			app := w.Application("pi", asGang(scheduler), func(app *v1beta2.SparkApplication) {
				app.Spec.RestartPolicy = v1beta2.RestartPolicy{
					Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)),
					OnFailureRetryInterval: new(int64(10)), // the test must see the state FAILING
				}
			})
			driver := w.DriverOf(app, 1)

			first := waitGroup(w, kind, app, 1)
			if order, err := resourceversion.CompareResourceVersion(first.GetResourceVersion(),
				driver.ResourceVersion); err != nil || order >= 0 {
				t.Errorf("the group (%s) is not older than the driver (%s): %v", first.GetResourceVersion(),
					driver.ResourceVersion, err)
			}

			if driver.Spec.SchedulerName != scheduler {
				t.Errorf("the driver's scheduler is %q", driver.Spec.SchedulerName)
			}

			if mark := driver.Annotations[gang.VolcanoAnnotation] +
				driver.Labels[gang.CoschedulingLabel]; mark != first.GetName() {
				t.Errorf("the driver has the group %q", mark)
			}

			checkGroup(w, first, app, map[string]string{"cpu": "3", "memory": "2688Mi"})

			// While the next attempt waits for its time, no capacity is reserved for the previous one.
			w.Execute(driver, scene.Exited(1, "first"))
			w.WaitState("pi", v1beta2.ApplicationStateFailing)
			w.WaitGone(first)

			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(driver), driver); err != nil {
				t.Errorf("the driver was deleted with the group: %v", err)
			}

			driver = w.DriverOf(app, 2)

			second := waitGroup(w, kind, app, 2)
			if second.GetUID() == first.GetUID() {
				t.Error("both attempts have one group")
			}

			w.Execute(driver, scene.Exited(0, ""))
			w.WaitState("pi", v1beta2.ApplicationStateCompleted)
			w.WaitGone(second)

			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(driver), driver); err != nil {
				t.Errorf("the driver pod is not kept: %v", err)
			}
		})
	}
}

// checkGroup checks that a PodGroup, as the API server stored it, has the given minimum resources, and that the
// application owns it.
func checkGroup(w *world.World, group *unstructured.Unstructured, app *v1beta2.SparkApplication,
	minResources map[string]string) {
	w.T.Helper()

	spec, _ := group.Object["spec"].(map[string]any)
	if spec["minMember"] != int64(1) {
		w.T.Errorf("minMember is %v", spec["minMember"])
	}

	stored, _, _ := unstructured.NestedStringMap(group.Object, "spec", "minResources")
	if fmt.Sprint(stored) != fmt.Sprint(minResources) {
		w.T.Errorf("minResources are %v, want %v", stored, minResources)
	}

	if !identity.OwnedBy(group, app.UID) {
		w.T.Errorf("owners are %v", group.GetOwnerReferences())
	}
}

// TestGangIsEdited checks that an edit of the spec starts a new run whose PodGroup has the new size.
func TestGangIsEdited(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definitionsOfGroups(w)
	runGangs(w)
	app := w.Application("pi", asGang("volcano"))
	w.RunningDriver(app, 1)
	w.Patch("pi", `{"spec":{"executor":{"instances":5},"batchSchedulerOptions":{"queue":"research"}}}`)
	w.DriverOf(app, 2)
	group := waitGroup(w, gang.VolcanoKind, app, 2)
	checkGroup(w, group, app, map[string]string{"cpu": "6", "memory": "5376Mi"})

	if queue, _, _ := unstructured.NestedString(group.Object, "spec", "queue"); queue != "research" {
		t.Errorf("the queue is %q", queue)
	}
	// A suspended application reserves no capacity.
	w.Patch("pi", `{"spec":{"suspend":true}}`)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(group)
}

// TestGroupOfSomebodyElse checks that the operator does not change somebody else's PodGroup that has the name of an
// application's PodGroup. The submission fails, and its message names the existing PodGroup.
func TestGroupOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definitionsOfGroups(w)
	theirs := groupOf(gang.VolcanoKind, w.Application("pi", asGang("volcano"), world.Suspended))
	theirs.Object["spec"] = map[string]any{"minMember": int64(7)}
	w.Create(theirs)
	runGangs(w)
	w.Patch("pi", `{"spec":{"suspend":false}}`)

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if !strings.Contains(got.Status.AppState.ErrorMessage,
		`PodGroup "spark-pi-pg" already exists and does not belong to this resource`) {
		t.Errorf("%q", got.Status.AppState.ErrorMessage)
	}

	now := groupOf(gang.VolcanoKind, got)
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil ||
		now.GetUID() != theirs.GetUID() {
		t.Errorf("somebody else's PodGroup is gone: %v", err)
	}
}

// TestGroupOfAnotherOperator checks a PodGroup that the application owns but that none of our attempts created. The
// operator replaces this PodGroup, since no other program would delete it.
func TestGroupOfAnotherOperator(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definitionsOfGroups(w)
	app := w.Application("pi", asGang("volcano"), world.Suspended)
	left := groupOf(gang.VolcanoKind, app)
	left.SetOwnerReferences(tiny.Meta(app, "", 1).OwnerReferences)
	left.Object["spec"] = map[string]any{"minMember": int64(1), "minResources": map[string]any{"memory": "1"}}
	w.Create(left)
	runGangs(w)
	w.Patch("pi", `{"spec":{"suspend":false}}`)
	w.DriverOf(app, 1)
	group := waitGroup(w, gang.VolcanoKind, app, 1)
	checkGroup(w, group, app, map[string]string{"cpu": "3", "memory": "2688Mi"})
}

// TestGangBySparkSubmit checks that the PodGroup is created before the pod that runs spark-submit. This pod is not a
// member of the group, but the driver that spark-submit creates is.
func TestGangBySparkSubmit(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definitionsOfGroups(w)
	runGangs(w)
	app := w.Application("pi", asGang("volcano"), world.BySparkSubmit)
	submitter := w.SubmitterOf(app, 1)
	group := waitGroup(w, gang.VolcanoKind, app, 1)
	checkGroup(w, group, app, map[string]string{"cpu": "3", "memory": "2688Mi"})

	if submitter.Annotations[gang.VolcanoAnnotation] != "" || submitter.Spec.SchedulerName == "volcano" {
		t.Errorf("the submitter has the group %q and the scheduler %q", submitter.Annotations[gang.VolcanoAnnotation],
			submitter.Spec.SchedulerName)
	}

	var secret corev1.Secret
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(submitter), &secret); err != nil {
		t.Fatal(err)
	}

	settings, err := conf.UnmarshalProperties(string(secret.Data["spark.properties"]))
	if err != nil {
		t.Fatal(err)
	}

	for key, want := range map[string]string{
		"spark.kubernetes.driver.scheduler.name":                            "volcano",
		"spark.kubernetes.executor.scheduler.name":                          "volcano",
		"spark.kubernetes.driver.annotation.scheduling.k8s.io/group-name":   group.GetName(),
		"spark.kubernetes.executor.annotation.scheduling.k8s.io/group-name": group.GetName(),
	} {
		if got, _ := settings.Get(key); got != want {
			t.Errorf("spark-submit reads %s as %q, want %q", key, got, want)
		}
	}

	driver := w.SparkSubmit(submitter, true)
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.WaitGone(group)
}

// TestUnknownScheduler checks that an application with an unknown scheduler fails, and that the message names the known
// schedulers.
func TestUnknownScheduler(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runGangs(w)
	w.Application("pi", asGang("volcanoo"))

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	for _, part := range []string{`"volcanoo" is not a batch scheduler`, "volcano, yunikorn, tuned"} {
		if !strings.Contains(world.Condition(got, "Failed").Message, part) {
			t.Errorf("%q does not say %q", world.Condition(got, "Failed").Message, part)
		}
	}
}

// TestTaskGroups checks that the API server stores task groups as the operator writes them. For YuniKorn the operator
// creates no group object: the driver pod itself has the task groups.
func TestTaskGroups(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runGangs(w)
	app := w.Application("pi", asGang("yunikorn"), func(app *v1beta2.SparkApplication) {
		app.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("root.research")}
	})

	driver := w.DriverOf(app, 1)
	if driver.Labels[gang.QueueLabel] != "root.research" || driver.Spec.SchedulerName != gang.YuniKornScheduler {
		t.Errorf("queue %q of %q", driver.Labels[gang.QueueLabel], driver.Spec.SchedulerName)
	}

	const groups = `[{"name":"spark-driver","minMember":1,"minResource":{"cpu":"1","memory":"896Mi"}},` +
		`{"name":"spark-executor","minMember":2,"minResource":{"cpu":"1","memory":"896Mi"}}]`
	if got := driver.Annotations[gang.TaskGroupsAnnotation]; got != groups {
		t.Errorf("task groups\n%s, want\n%s", got, groups)
	}
}
