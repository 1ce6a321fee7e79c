package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

type schedule = v1beta2.ScheduledSparkApplication

// tinySchedules is the smallest kind with runs: the schedule's text is the name of the one run that it wants now. With Forbid it starts it only once the
// last one has ended, which it believes after a live read; suspended it deletes all there are.
func tinySchedules() Kind {
	own := kinds.Schedules(config.Default()).Runs
	return Kind{
		Name:   "tinyschedule",
		New:    func() client.Object { return &schedule{} },
		Status: typed.Of(func(s *schedule) any { return &s.Status }),
		Decide: typed.Decides(tinyScheduleDecide),
		Runs: &Runs{
			New:    func() client.Object { return &v1beta2.SparkApplication{} },
			List:   func() client.ObjectList { return &v1beta2.SparkApplicationList{} },
			Labels: func(client.Object) map[string]string { return nil }, // whose they are is in their owners
			Facts:  tinyRunFacts,
			Head:   own.Head,
			Render: func(s client.Object, action lifecycle.Action) (client.Object, error) {
				return tinyRenderRun(s.(*schedule), action)
			},
			Due:    own.Due,
			Result: own.Result,
		},
		Events: typed.With(func(_ *schedule, plan lifecycle.Plan) []Event {
			var events []Event
			for _, action := range plan.Do {
				events = append(events, Event{Type: corev1.EventTypeNormal, Reason: "Tiny" + string(action.Verb), Message: action.Name})
			}
			return events
		}),
	}
}

func tinyRunFacts(object client.Object) lifecycle.Run {
	run := object.(*v1beta2.SparkApplication)
	facts := lifecycle.Run{Name: run.Name, UID: string(run.UID), Deleting: run.DeletionTimestamp != nil}
	switch run.Status.AppState.State {
	case v1beta2.ApplicationStateCompleted:
		facts.Outcome = lifecycle.Succeeded
	case v1beta2.ApplicationStateFailed:
		facts.Outcome = lifecycle.Failed
	}
	return facts
}

func tinyScheduleDecide(s *schedule, seen lifecycle.Observed, _ time.Time) lifecycle.Plan {
	var plan lifecycle.Plan
	s.Status.PastSuccessfulRunNames, s.Status.Reason = nil, ""
	goesOn := false
	for _, run := range seen.Runs {
		goesOn = goesOn || run.Outcome == lifecycle.Undecided
		if run.Outcome == lifecycle.Succeeded {
			s.Status.PastSuccessfulRunNames = append(s.Status.PastSuccessfulRunNames, run.Name)
		}
		if s.Spec.Suspend != nil && *s.Spec.Suspend {
			plan.Do = append(plan.Do, lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.ScheduledRun, Name: run.Name})
		}
	}
	next := s.Name + "-" + s.Spec.Schedule
	last := s.Status.LastRunName
	switch {
	case seen.Refusal != nil:
		s.Status.Reason = seen.Refusal.Reason + ": " + seen.Refusal.Message
		plan.Do, plan.Check = nil, 100*time.Millisecond
		return plan
	case last == next:
		return plan
	case s.Spec.ConcurrencyPolicy == v1beta2.ConcurrencyForbid && last != "":
		if goesOn {
			return plan
		}
		if !seen.Confirmed && !slices.ContainsFunc(seen.Runs, func(run lifecycle.Run) bool { return run.Name == last }) {
			plan.Do = []lifecycle.Action{{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun, Name: last}}
			return plan
		}
	}
	s.Status.LastRunName, s.Status.ScheduleState = next, v1beta2.ScheduleStateScheduled
	plan.Do = append(plan.Do, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: next})
	return plan
}

func tinyRenderRun(s *schedule, action lifecycle.Action) (client.Object, error) {
	if s.Spec.Template.Image == nil {
		return nil, errors.New("spec.template.image: required")
	}
	return &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: action.Name, Annotations: map[string]string{v1beta2.ScheduledAtAnnotation: s.CreationTimestamp.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: s.Name, UID: s.UID, BlockOwnerDeletion: new(true),
			}},
		},
		Spec: s.Spec.Template,
	}, nil
}

// runTinySchedules starts an operator with the tiny kind of kinds.Schedules, and without one for their runs.
func (w *world) runTinySchedules(change ...func(*Environment)) (stop func()) {
	w.t.Helper()
	env := w.environment()
	for _, c := range change {
		c(&env)
	}
	op, err := newOperator(w.t.Context(), testConfig(w.namespace), env)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := AddWhenServed(w.t.Context(), op, tinySchedules(), time.Now); err != nil {
		w.t.Fatal(err)
	}
	return w.run(op)
}

// schedule creates a ScheduledSparkApplication.
func (w *world) schedule(name, times string, change ...func(*schedule)) *schedule {
	w.t.Helper()
	s := &schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: times, Template: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		}},
	}
	for _, c := range change {
		c(s)
	}
	w.create(s)
	return s
}

func forbid(s *schedule) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid }

// editSchedule changes a schedule's spec by a merge patch.
func (w *world) editSchedule(name, spec string) {
	w.t.Helper()
	w.patchSchedule(name, fmt.Sprintf(`{"spec":%s}`, spec))
}

func (w *world) patchSchedule(name, patch string) {
	w.t.Helper()
	s := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.api.Patch(w.t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// waitSchedule waits until a schedule's status is as asked for, and returns it.
func (w *world) waitSchedule(name, what string, holds func(*v1beta2.ScheduledSparkApplicationStatus) bool) *schedule {
	w.t.Helper()
	s := &schedule{}
	testkit.Wait(w.t, name+": "+what, func(ctx context.Context) error {
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, s); err != nil {
			return err
		}
		if !holds(&s.Status) {
			return fmt.Errorf("its status is %+v", s.Status)
		}
		return nil
	})
	return s
}

func lastRun(name string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
	return func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return s.LastRunName == name }
}

// endRun writes the end of a run into its status, as the operator would that carries it.
func (w *world) endRun(name string, state v1beta2.ApplicationStateType) {
	w.t.Helper()
	run := w.get(name)
	before := run.DeepCopy()
	run.Status.AppState.State = state
	run.Status.TerminationTime = metav1.Now()
	if err := w.api.Status().Patch(w.t.Context(), run, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// runsOf lists the names of a schedule's runs.
func (w *world) runsOf(s *schedule) []string {
	w.t.Helper()
	var list v1beta2.SparkApplicationList
	if err := w.api.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		if identity.OwnedBy(&list.Items[i], s.UID) {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestRunsAreSeenAndDeleted: a run that ends wakes its schedule at once, whatever else happens to it wakes nobody, and what is deleted goes with the UID
// that was seen.
func TestRunsAreSeenAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTinySchedules()
	s := w.schedule("nightly", "a", forbid)
	w.waitSchedule("nightly", "the first run", lastRun("nightly-a"))
	w.editSchedule("nightly", `{"schedule":"b"}`)
	w.endRun("nightly-a", v1beta2.ApplicationStateCompleted)
	// Nothing but the run's end can have woken it.
	w.waitSchedule("nightly", "the second run", lastRun("nightly-b"))
	w.waitSchedule("nightly", "the end of the first", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.Equal(s.PastSuccessfulRunNames, []string{"nightly-a"})
	})
	if diff := cmp.Diff([]string{"nightly-a", "nightly-b"}, w.runsOf(s)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	writes := w.metric("sparkoperator_status_writes_total")
	w.editSchedule("nightly", `{"suspend":true}`)
	w.waitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "nightly-a"}})
	w.waitGone(&v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "nightly-b"}})
	w.waitSchedule("nightly", "no run that it kept", func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return len(s.PastSuccessfulRunNames) == 0 })
	if got := w.metric("sparkoperator_status_writes_total") - writes; got > 2 {
		t.Errorf("%v status writes", got)
	}
	for name, want := range map[string]float64{"sparkoperator_runs_total": 2, "sparkoperator_run_delay_seconds": 2} {
		w.waitMetric(name, want)
	}
}

// TestRunIsRefused: by its render, by another's object of its name, by a quota; each is told by name, and over when it is put right.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTinySchedules()
	says := func(parts ...string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
		return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(s.Reason, part) })
		}
	}
	w.schedule("bare", "a", func(s *schedule) { s.Spec.Template.Image = nil })
	w.waitSchedule("bare", "what the render says", says("InvalidSpec: spec.template.image"))
	w.editSchedule("bare", `{"template":{"image":"docker.io/apache/spark:4.1.4"}}`)
	w.waitSchedule("bare", "its run", lastRun("bare-a"))

	taken := w.application("taken-a")
	s := w.schedule("taken", "a")
	w.waitSchedule("taken", "who has the name", says("NameTaken", `SparkApplication "taken-a" already exists`, "it has no owner"))
	if got := w.get("taken-a"); !cmp.Equal(got, taken) {
		t.Errorf("another's application was touched:\n%s", cmp.Diff(taken, got))
	}
	if err := w.api.Delete(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	w.waitSchedule("taken", "its run", lastRun("taken-a"))
	if !identity.OwnedBy(w.get("taken-a"), s.UID) {
		t.Error("the run is not the schedule's")
	}

	quota := w.quotaOnRuns()
	w.schedule("poor", "a")
	w.waitSchedule("poor", "the quota", says("QuotaExceeded", "exceeded quota: none"))
	if err := w.api.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	w.waitSchedule("poor", "its run", lastRun("poor-a"))
}

// quotaOnRuns lets nobody create an application in the test's namespace.
func (w *world) quotaOnRuns() *corev1.ResourceQuota {
	w.t.Helper()
	const counted = "count/sparkapplications.sparkoperator.k8s.io"
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: resource.MustParse("0")}},
	}
	w.create(quota)
	// Kubernetes' own controller of quotas takes minutes to get to know a custom resource.
	testkit.Wait(w.t, "the quota to hold", func(ctx context.Context) error {
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{counted: resource.MustParse("0")}}
		if err := w.api.Status().Update(ctx, quota); err != nil {
			return err
		}
		probe := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4",
		}}
		switch err := w.api.Create(ctx, probe, client.DryRunAll); {
		case err == nil:
			return errors.New("another application would be taken")
		case !strings.Contains(err.Error(), "exceeded quota"):
			return fmt.Errorf("another application: %w", err)
		}
		return nil
	})
	return quota
}

// TestRunThatTheCacheDoesNotShow: a pass over a fresh schedule and a stale cache of runs starts nothing twice, and starts nothing beside a run that is
// there; a live read tells.
func TestRunThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.schedule("nightly", "a", forbid)
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	pass := func() {
		t.Helper()
		r := &Reconciler{
			scope: everywhere{}, explains: explain.New(w.api, w.api, nil),
			kind: tinySchedules(), client: blindToRuns{w.api}, live: w.api, metrics: metrics, clock: time.Now, limit: passTimeout,
			events: telemetry.NewRecorder(w.api, w.api, w.logger(), metrics),
		}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	first := w.get("nightly-a")
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	s.Status.LastRunName = "" // the operator died before it wrote that
	if err := w.api.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	pass()
	if got := w.get("nightly-a"); got.UID != first.UID {
		t.Error("the run was made twice")
	}
	w.waitSchedule("nightly", "the run that was found", lastRun("nightly-a"))

	w.editSchedule("nightly", `{"schedule":"b"}`)
	pass()
	if diff := cmp.Diff([]string{"nightly-a"}, w.runsOf(s)); diff != "" {
		t.Errorf("beside one that goes on (-want +got):\n%s", diff)
	}
	w.endRun("nightly-a", v1beta2.ApplicationStateFailed)
	pass()
	if diff := cmp.Diff([]string{"nightly-a", "nightly-b"}, w.runsOf(s)); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}
	if err := w.api.Delete(t.Context(), w.get("nightly-b")); err != nil {
		t.Fatal(err)
	}
	w.editSchedule("nightly", `{"schedule":"c"}`)
	pass()
	if diff := cmp.Diff([]string{"nightly-a", "nightly-c"}, w.runsOf(s)); diff != "" {
		t.Errorf("after the last run was deleted (-want +got):\n%s", diff)
	}
}

// blindToRuns is a cache that does not show any applications yet.
type blindToRuns struct{ client.Client }

func (b blindToRuns) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, runs := list.(*v1beta2.SparkApplicationList); runs {
		return nil
	}
	return b.Client.List(ctx, list, options...)
}

// TestRequestsOfARun lists every request that a run costs its schedule, from its start to its end: one application, and two status writes. No reads at all.
func TestRequestsOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := &requests{}
	stop := w.runTinySchedules(func(env *Environment) { env.Rest.Wrap(made.over) })
	live := func(name string) {
		w.schedule(name, "a")
		w.waitSchedule(name, "its run", lastRun(name+"-a"))
		w.endRun(name+"-a", v1beta2.ApplicationStateCompleted)
		w.waitSchedule(name, "its end", func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return len(s.PastSuccessfulRunNames) == 1 })
	}
	live("first") // finds the caches full and the connections open
	before := made.since(nil)
	live("second")
	stop()
	got := made.since(before)
	delete(got, "POST events")
	want := map[string]int{"POST sparkapplications": 1, "PATCH scheduledsparkapplications/status": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRunOfAnotherFault: what no dialect may render is not created.
func TestRunOfAnotherFault(t *testing.T) {
	s := &schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", UID: "u"}}
	s.Spec.Template.Image = new("i")
	action := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: "s-a"}
	run, err := tinyRenderRun(s, action)
	if err != nil || oursToRun(run, s, action) != nil {
		t.Fatalf("%v, %v", err, oursToRun(run, s, action))
	}
	for name, spoil := range map[string]func(client.Object){
		"another namespace": func(run client.Object) { run.SetNamespace("other") },
		"another name":      func(run client.Object) { run.SetName("other") },
		"no owner":          func(run client.Object) { run.SetOwnerReferences(nil) },
	} {
		run := run.DeepCopyObject().(client.Object)
		if spoil(run); oursToRun(run, s, action) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
