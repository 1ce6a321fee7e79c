package runs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

type schedule = v1beta2.ScheduledSparkApplication

// runTinySchedules starts an operator that serves only the minimal kind of schedules in package tiny. The runs of these
// schedules are SparkApplications, which the operator does not serve.
func runTinySchedules(w *world.World, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewEmpty(w.T.Context(), world.Config(w.Namespace), env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.AddWhenServed(w.T.Context(), op, tiny.Schedules(), time.Now); err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

func forbid(s *schedule) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid }

func lastRun(name string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
	return func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return s.LastRunName == name }
}

// TestRunsAreSeenAndDeleted checks that the end of a run queues its schedule at once, and that no other change of the
// run does. The operator deletes a run only if it still has the UID that the operator read.
func TestRunsAreSeenAndDeleted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runTinySchedules(w)
	s := w.Schedule("nightly", "a", forbid)
	w.WaitSchedule("nightly", "the first run", lastRun("nightly-a"))
	w.EditSchedule("nightly", `{"schedule":"b"}`)
	w.EndRun("nightly-a", v1beta2.ApplicationStateCompleted)
	// Only the run's end can have queued it.
	w.WaitSchedule("nightly", "the second run", lastRun("nightly-b"))
	w.WaitSchedule("nightly", "the end of the first run", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.Equal(s.PastSuccessfulRunNames, []string{"nightly-a"})
	})

	if diff := cmp.Diff([]string{"nightly-a", "nightly-b"}, w.RunsOf(s)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}

	writes := w.Metric("sparkoperator_status_writes_total")
	w.EditSchedule("nightly", `{"suspend":true}`)
	w.WaitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nightly-a"}})
	w.WaitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nightly-b"}})
	w.WaitSchedule("nightly", "a status without past runs",
		func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return len(s.PastSuccessfulRunNames) == 0 })

	if got := w.Metric("sparkoperator_status_writes_total") - writes; got > 2 {
		t.Errorf("%v status writes", got)
	}

	for name, want := range map[string]float64{"sparkoperator_runs_total": 2, "sparkoperator_run_delay_seconds": 2} {
		w.WaitMetric(name, want)
	}
}

// TestRunIsRefused checks that a schedule reports the name of a run that cannot start and the reason: a rendering
// error, somebody else's object with the run's name, or a quota. The report disappears when the problem is solved.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runTinySchedules(w)

	says := func(parts ...string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
		return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(s.Reason, part) })
		}
	}

	w.Schedule("bare", "a", func(s *schedule) { s.Spec.Template.Image = nil })
	w.WaitSchedule("bare", "the rendering error", says("InvalidSpec: spec.template.image"))
	w.EditSchedule("bare", `{"template":{"image":"docker.io/apache/spark:4.1.4"}}`)
	w.WaitSchedule("bare", "its run", lastRun("bare-a"))

	taken := w.Application("taken-a")
	s := w.Schedule("taken", "a")
	w.WaitSchedule("taken", "a message that names the existing application",
		says("NameTaken", `SparkApplication "taken-a" already exists`, "it has no owner"))

	if got := w.Get("taken-a"); !cmp.Equal(got, taken) {
		t.Errorf("somebody else's application was changed:\n%s", cmp.Diff(taken, got))
	}

	if err := w.API.Delete(t.Context(), taken); err != nil {
		t.Fatal(err)
	}

	w.WaitSchedule("taken", "its run", lastRun("taken-a"))

	if !identity.OwnedBy(w.Get("taken-a"), s.UID) {
		t.Error("the schedule does not own the run")
	}

	quota := quotaOnRuns(w)
	w.Schedule("poor", "a")
	w.WaitSchedule("poor", "the quota", says("QuotaExceeded", "exceeded quota: none"))

	if err := w.API.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}

	w.WaitSchedule("poor", "its run", lastRun("poor-a"))
}

// quotaOnRuns creates a quota that forbids new SparkApplications in the test's namespace.
func quotaOnRuns(w *world.World) *corev1.ResourceQuota {
	w.T.Helper()
	const counted = "count/sparkapplications.sparkoperator.k8s.io"
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: resource.MustParse("0")}},
	}
	w.Create(quota)
	// Kubernetes' own quota controller takes minutes to discover a custom resource.
	kit.Wait(w.T, "the quota to hold", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}

		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard,
			Used: corev1.ResourceList{counted: resource.MustParse("0")}}
		if err := w.API.Status().Update(ctx, quota); err != nil {
			return err
		}

		probe := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "probe"},
			Spec: v1beta2.SparkApplicationSpec{
				Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4",
			}}
		switch err := w.API.Create(ctx, probe, client.DryRunAll); {
		case err == nil:
			return errors.New("the quota admits another application")
		case !strings.Contains(err.Error(), "exceeded quota"):
			return fmt.Errorf("another application: %w", err)
		}
		return nil
	})
	return quota
}

// TestRequestsOfARun checks which requests the operator sends for a schedule from the start to the end of a run: one
// that creates an application, and two status writes. It sends no read.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	stop := runTinySchedules(w, func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	live := func(name string) {
		w.Schedule(name, "a")
		w.WaitSchedule(name, "its run", lastRun(name+"-a"))
		w.EndRun(name+"-a", v1beta2.ApplicationStateCompleted)
		w.WaitSchedule(name, "its end",
			func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return len(s.PastSuccessfulRunNames) == 1 })
	}
	live("first") // syncs the caches and opens the connections

	before := made.Since(nil)

	live("second")
	stop()

	got := made.Since(before)
	delete(got, "POST events")

	want := map[string]int{"POST sparkapplications": 1, "PATCH scheduledsparkapplications/status": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
