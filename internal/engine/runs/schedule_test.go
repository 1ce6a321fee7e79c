package runs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// runSchedules starts an operator that serves schedules and their runs and uses the given clock.
func runSchedules(w *world.World, clock controller.Clock, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	cfg := world.Config(w.Namespace)

	op, err := operator.NewEmpty(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, configured.For(kinds.SparkApplication).Build(op.Settings, nil),
		clock); err != nil {
		w.T.Fatal(err)
	}

	if err := operator.AddWhenServed(w.T.Context(), op, configured.For(kinds.Schedule).Build(op.Settings, nil),
		clock); err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// beforeAMinute returns a clock that stands still shortly before the end of the current minute. The argument
// `remaining` is the time from there to the end of the minute, and the result `end` is the end of the minute. The
// function release starts the clock. While the clock stands still, even a slow machine can prepare a test before the
// tick at the end of the minute.
func beforeAMinute(remaining time.Duration) (clock controller.Clock, end time.Time, release func()) {
	end = time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	start := end.Add(-remaining)
	var released atomic.Pointer[time.Time]
	return func() time.Time {
		if at := released.Load(); at != nil {
			return start.Add(time.Since(*at))
		}
		return start
	}, end, func() { released.Store(new(time.Now())) }
}

// once returns a cron expression that is due in the minute of the given time and in no other minute of the year.
func once(at time.Time) string {
	return fmt.Sprintf("%d %d %d %d *", at.Minute(), at.Hour(), at.Day(), at.Month())
}

func replacing(s *schedule) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyReplace }

func utc(s *schedule) { s.Spec.TimeZone = "Etc/UTC" }

// keeps returns a change that sets the history limits of a schedule.
func keeps(succeeded, failed int32) func(*schedule) {
	return func(s *schedule) {
		s.Spec.SuccessfulRunHistoryLimit, s.Spec.FailedRunHistoryLimit = &succeeded, &failed
	}
}

// requestRun requests a run of a schedule, and returns the name that the run will have.
func requestRun(w *world.World, s *schedule, request string) string {
	w.T.Helper()
	w.PatchSchedule(s.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1beta2.RunNowAnnotation, request))
	return machine.RequestName(s.Name, string(s.UID), request)
}

// startRequestedRun requests a run, waits until its driver exists, and returns the name of the run.
func startRequestedRun(w *world.World, s *schedule, request string) (run string) {
	w.T.Helper()
	run = requestRun(w, s, request)
	w.WaitSchedule(s.Name, "run "+run, lastRun(run))
	w.WaitPod(run + "-driver")
	return run
}

// succeedRun plays the kubelet: it lets the driver of a run succeed, and waits until the run has completed.
func succeedRun(w *world.World, run string) {
	w.T.Helper()
	w.Kubelet(run+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState(run, v1beta2.ApplicationStateCompleted)
}

func fails(w *world.World, run string) {
	w.T.Helper()
	w.Kubelet(run+"-driver", corev1.PodFailed, scene.Exited(1, "boom"))
	w.WaitState(run, v1beta2.ApplicationStateFailed)
}

// waitRuns waits until the runs of a schedule are exactly those with the given names.
func waitRuns(w *world.World, s *schedule, names ...string) {
	w.T.Helper()
	slices.Sort(names)
	kit.Wait(w.T, fmt.Sprintf("the runs of %s to be %v", s.Name, names), func(context.Context) error {
		if got := w.RunsOf(s); !slices.Equal(got, names) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

func isTrue(s *v1beta2.ScheduledSparkApplicationStatus, condition string) bool {
	return meta.IsStatusConditionTrue(s.Conditions, condition)
}

// TestScheduleLife checks that the run that a tick starts has the labels and the owner that the kubeflow operator gives
// to a run. The schedule's status reports the end of the run. The start and the end of the run cost few status writes
// each.
func TestScheduleLife(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	clock, minute, release := beforeAMinute(4 * time.Second)
	runSchedules(w, clock)
	s := w.Schedule("nightly", once(minute), utc, func(s *schedule) {
		s.Labels = map[string]string{"team": "a", sparkoperator.LabelScheduledAppName: "mine"}
	})
	w.WaitSchedule("nightly", "its next run", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.ScheduleState == v1beta2.ScheduleStateScheduled && s.NextRun.Time.Equal(minute) &&
			isTrue(s, dialect.ConditionReady)
	})
	before := w.Metric("sparkoperator_status_writes_total")

	release()

	name := machine.RunName("nightly", minute, machine.Nanos)
	w.WaitSchedule("nightly", "the run", lastRun(name))

	run := w.Get(name)
	if diff := cmp.Diff(map[string]string{sparkoperator.LabelScheduledAppName: "nightly", "team": "a"},
		run.Labels); diff != "" {
		t.Errorf("labels of the run (-want +got):\n%s", diff)
	}

	owner := metav1.OwnerReference{
		APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "ScheduledSparkApplication", Name: "nightly", UID: s.UID,
		BlockOwnerDeletion: new(true),
	}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, run.OwnerReferences); diff != "" {
		t.Errorf("owners of the run (-want +got):\n%s", diff)
	}

	if due := configured.For(kinds.Schedule).Build(config.Default, nil).(runs.Kind).RunDue(s, run); !due.Equal(minute) {
		t.Errorf("the run has the due time %s", due)
	}

	w.WaitPod(name + "-driver")
	succeedRun(w, name)

	got := w.WaitSchedule("nightly", "the run's end", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.Equal(s.PastSuccessfulRunNames, []string{name})
	})
	if got.Status.NextRun.Time.Before(minute.AddDate(0, 11, 0)) || got.Status.ObservedGeneration != got.Generation {
		t.Errorf("the next run is at %s, the generation %d of %d", got.Status.NextRun, got.Status.ObservedGeneration,
			got.Generation)
	}

	for metric, want := range map[string]float64{"sparkoperator_run_delay_seconds": 1, "sparkoperator_runs_total": 2} {
		w.WaitMetric(metric, want)
	}
	// The transitions of the run (launched, running, ended) are its own Events. The schedule adds those of its start
	// and end.
	if writes := w.MetricOf("sparkoperator_status_writes_total", "kind", "scheduledsparkapplication"); writes > 4 {
		t.Errorf("%v status writes of the schedule from its creation to its run's end (%v of everything before)",
			writes, before)
	}

	kit.Wait(t, "the events", func(context.Context) error {
		if reported := w.EventsOf(s); len(reported) < 2 {
			return fmt.Errorf("events: %v", reported)
		}
		return nil
	})
}

// TestScheduleForbids checks a run that is requested while another run of the schedule is not finished. The requested
// run starts as soon as the earlier run ends. The end of the earlier run queues the schedule, since no timer is due
// soon.
func TestScheduleForbids(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, forbid, keeps(2, 2))
	first := startRequestedRun(w, s, "one")
	second := requestRun(w, s, "two")
	w.WaitSchedule("nightly", "the wait", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.Operator != nil && s.Operator.Cause != nil && strings.Contains(s.Operator.Cause.Message, first)
	})

	if diff := cmp.Diff([]string{first}, w.RunsOf(s)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}

	fails(w, first)
	w.WaitSchedule("nightly", "the second run", lastRun(second))
	w.WaitPod(second + "-driver")
	w.WaitSchedule("nightly", "the end of the first", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.Equal(s.PastFailedRunNames, []string{first})
	})
}

// TestScheduleReplaces checks that, if a new run replaces an old run, the driver of the new run does not exist before
// the old run and its driver are gone.
func TestScheduleReplaces(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.Cascade)
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, replacing)
	first := startRequestedRun(w, s, "one")
	driver := w.WaitPod(first + "-driver")
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { neverTwoDrivers(w, over) })

	second := startRequestedRun(w, s, "two")

	close(over)
	watching.Wait()
	waitRuns(w, s, second)
	w.WaitGone(driver)
}

// neverTwoDrivers checks, until the channel done is closed, that the namespace never has two drivers at the same time.
func neverTwoDrivers(w *world.World, done <-chan struct{}) {
	for {
		var pods corev1.PodList
		if err := w.API.List(context.Background(), &pods, client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.RoleLabel: identity.RoleDriver}); err != nil {
			w.T.Error(err)
			return
		}

		if len(pods.Items) > 1 {
			w.T.Errorf("%d drivers at a time", len(pods.Items))
			return
		}

		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestScheduleHistory checks that the runs beyond the history limits are deleted as soon as a run ends. The deletion
// does not wait for the start of the next run.
func TestScheduleHistory(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, keeps(1, 0))
	first := startRequestedRun(w, s, "one")
	succeedRun(w, first)
	waitRuns(w, s, first)
	second := startRequestedRun(w, s, "two")
	// It may be deleted before its state can be read.
	w.Kubelet(second+"-driver", corev1.PodFailed, scene.Exited(1, "boom"))
	waitRuns(w, s, first)
	third := startRequestedRun(w, s, "three")
	succeedRun(w, third)
	waitRuns(w, s, third)
	w.WaitSchedule("nightly", "the history", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.Equal(s.PastSuccessfulRunNames, []string{third}) && len(s.PastFailedRunNames) == 0
	})
	w.EditSchedule("nightly", `{"successfulRunHistoryLimit":0}`)
	waitRuns(w, s)
}

// TestScheduleSuspended checks that a suspended schedule starts requested runs but no run at a tick. When the schedule
// is resumed, it starts no run for a past tick whose starting deadline has passed.
func TestScheduleSuspended(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	clock, minute, release := beforeAMinute(3 * time.Second)
	runSchedules(w, clock)
	s := w.Schedule("nightly", once(minute), utc, func(s *schedule) {
		s.Spec.Suspend, s.Spec.StartingDeadlineSeconds = new(true), new(int64(1))
	})
	w.WaitSchedule("nightly", "to be suspended", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return isTrue(s, dialect.ConditionSuspended)
	})
	run := startRequestedRun(w, s, "one")

	release()
	kit.Wait(t, "the end of the starting deadline", func(context.Context) error {
		if clock().Before(minute.Add(3 * time.Second)) {
			return fmt.Errorf("the clock shows %s", clock())
		}
		return nil
	})
	w.EditSchedule("nightly", `{"suspend":false}`)
	w.WaitSchedule("nightly", "to go on", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return !isTrue(s, dialect.ConditionSuspended) && s.NextRun.Time.After(minute)
	})
	waitRuns(w, s, run)
}

// TestScheduleIsEdited checks that an edit of a schedule changes nextRun at once. A message names the field of an
// invalid schedule or time zone, and the schedule continues after a valid edit.
func TestScheduleIsEdited(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, utc)
	at := func(month time.Month, day, hour int) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
		return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
			next := s.NextRun.UTC()
			return s.ScheduleState == v1beta2.ScheduleStateScheduled && s.Reason == "" && next.Month() == month &&
				next.Day() == day && next.Hour() == hour
		}
	}
	wrong := func(field string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
		return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
			return s.ScheduleState == v1beta2.ScheduleStateFailedValidation && strings.Contains(s.Reason, field) &&
				isTrue(s, dialect.ConditionStalled)
		}
	}

	w.WaitSchedule("nightly", "February", at(time.February, 29, 0))
	w.EditSchedule("nightly", `{"schedule":"0 3 30 6 *"}`)
	w.WaitSchedule("nightly", "June", at(time.June, 30, 3))
	w.EditSchedule("nightly", `{"timeZone":"Asia/Tokyo"}`)
	w.WaitSchedule("nightly", "June in Tokyo", at(time.June, 29, 18))

	for _, c := range []struct{ spec, field string }{
		{`{"schedule":"every now and then"}`, "spec.schedule"},
		{`{"schedule":"0 3 30 6 *","timeZone":"Mars/Olympus"}`, "spec.timeZone"},
		{`{"timeZone":"Etc/UTC","template":{"image":null}}`, "spec.template.image"},
	} {
		w.EditSchedule("nightly", c.spec)
		w.WaitSchedule("nightly", c.field, wrong(c.field))
	}

	kit.Wait(t, "an event that names the field", func(context.Context) error {
		for _, message := range w.EventsOf(s) {
			if strings.Contains(message, "spec.timeZone") {
				return nil
			}
		}
		return fmt.Errorf("events: %v", w.EventsOf(s))
	})
	w.EditSchedule("nightly", `{"template":{"image":"spark:4.1.4"},"concurrencyPolicy":"Perhaps"}`)
	w.WaitSchedule("nightly", "the schedule to continue", at(time.June, 30, 3))
	w.WaitSchedule("nightly", "a condition about its policy", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions,
			func(c metav1.Condition) bool { return strings.Contains(c.Message, "spec.concurrencyPolicy") })
	})
}

// waitingFor returns the reason why the requested run of a schedule has not started, or "" if the status gives no
// reason.
func waitingFor(s *v1beta2.ScheduledSparkApplicationStatus) string {
	if s.Operator == nil || s.Operator.WaitingRequest == nil || s.Operator.WaitingRequest.Cause == nil {
		return ""
	}
	return s.Operator.WaitingRequest.Cause.Reason
}

// TestScheduleNameIsTaken checks that the operator never changes somebody else's application with the name of a run,
// and that a message names this application. The run starts once the application is gone.
func TestScheduleNameIsTaken(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom)
	name := machine.RequestName("nightly", string(s.UID), "one")
	other := w.Application(name)
	requestRun(w, s, "one")

	refused := w.WaitSchedule("nightly", "a message that names the existing application",
		func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
			return waitingFor(s) == dependents.ReasonNameTaken &&
				strings.Contains(s.Operator.WaitingRequest.Cause.Message, name)
		})
	if refused.Status.LastRunName != "" {
		t.Errorf("the last run is %s", refused.Status.LastRunName)
	}

	if err := w.API.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}

	w.WaitSchedule("nightly", "the run", lastRun(name))

	if run := w.Get(name); run.UID == other.UID || !identity.OwnedBy(run, s.UID) {
		t.Error("the schedule does not own the run")
	}
}

// TestScheduleOverQuota checks that the status and one event report that a quota on applications rejects a run. The run
// starts once the quota has room.
func TestScheduleOverQuota(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom)
	quota := quotaOnRuns(w)
	run := requestRun(w, s, "one")
	w.WaitSchedule("nightly", "the quota", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return waitingFor(s) == apianswer.ReasonQuota
	})

	if err := w.API.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}

	w.WaitSchedule("nightly", "the run", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.LastRunName == run && s.Operator.WaitingRequest == nil
	})
}

// TestScheduleIsDeleted checks that a schedule's runs are deleted or kept according to the propagation policy of the
// deletion, as for Kubernetes' own kinds.
func TestScheduleIsDeleted(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.Cascade)

	for policy, stays := range map[metav1.DeletionPropagation]bool{
		metav1.DeletePropagationBackground: false, metav1.DeletePropagationForeground: false,
		metav1.DeletePropagationOrphan: true,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			runSchedules(w, time.Now)
			s := w.Schedule("nightly", scene.Seldom)
			name := startRequestedRun(w, s, "one")

			driver := w.WaitPod(name + "-driver")
			if err := w.API.Delete(t.Context(), s, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}

			w.WaitGone(s)

			if !stays {
				w.WaitGone(absent(w, name))
				w.WaitGone(driver)
				return
			}

			succeedRun(w, name)

			if owners := w.Get(name).OwnerReferences; len(owners) > 0 {
				t.Errorf("the kept run has owners: %v", owners)
			}
		})
	}
}

// absent returns an application object that has only a name and a namespace. Callers use it to check that no such
// application exists.
func absent(w *world.World, name string) *v1beta2.SparkApplication {
	return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

// TestScheduleCrashes runs the same schedule many times: it starts two runs, one after the other, and deletes the first
// run when the second has ended. Each time the operator crashes before or after a different write, and another process
// continues. No run may be started twice or lost.
func TestScheduleCrashes(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 64, 7, scheduledLife)
}

// scheduledLife lets one schedule start two runs. The operator crashes at the given point. The result reports whether
// this point was reached.
func scheduledLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	stop := runSchedules(w, time.Now, func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		select {
		case <-crash.Killed:
			died = true

			stop()
			runSchedules(w, time.Now)
		case <-over:
		}
	})

	s := w.Schedule("nightly", scene.Seldom, forbid, keeps(1, 1))
	witness := recordRuns(w, s, over, &others)
	first := requestRun(w, s, "one")
	w.WaitSchedule("nightly", "the first run", lastRun(first))
	second := requestRun(w, s, "two")
	w.WaitPod(first + "-driver")
	succeedRun(w, first)
	w.WaitSchedule("nightly", "the second run", lastRun(second))
	w.WaitPod(second + "-driver")
	// Creation times have a resolution of seconds: of two runs of one second either may count as the newer one. So the
	// second run may be deleted as soon as it has ended.
	w.Kubelet(second+"-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitSchedule("nightly", "exactly one run in the history",
		func(status *v1beta2.ScheduledSparkApplicationStatus) bool {
			kept := w.RunsOf(s)
			return len(kept) == 1 && slices.Equal(status.PastSuccessfulRunNames, kept)
		})
	close(over)
	others.Wait()

	want := map[string]int{first: 1, second: 1}
	if diff := cmp.Diff(want, witness()); diff != "" {
		t.Errorf("number of creations of each run (-want +got):\n%s", diff)
	}
	return died
}

// recordRuns records a schedule's runs until the channel done is closed. After that, the test may call the returned
// function, which returns how many runs were created with each name.
func recordRuns(w *world.World, s *schedule, done <-chan struct{}, others *sync.WaitGroup) func() map[string]int {
	seen := map[string]map[string]bool{}
	others.Go(func() {
		for {
			var list v1beta2.SparkApplicationList
			if err := w.API.List(context.Background(), &list, client.InNamespace(w.Namespace)); err != nil {
				w.T.Error(err)
				return
			}

			for _, run := range list.Items {
				if identity.OwnedBy(&run, s.UID) {
					if seen[run.Name] == nil {
						seen[run.Name] = map[string]bool{}
					}

					seen[run.Name][string(run.UID)] = true
				}
			}

			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() map[string]int {
		count := map[string]int{}
		for name, uids := range seen {
			count[name] = len(uids)
		}
		return count
	}
}

// TestSchedulesOfOneMinute checks many schedules that are due at once. While the operator starts their runs, it is
// killed after a write that the API server has carried out. Another operator continues, and each schedule gets exactly
// one run.
func TestSchedulesOfOneMinute(t *testing.T) {
	t.Parallel()
	const n = 200
	w := world.New(t)
	clock, minute, release := beforeAMinute(5 * time.Second)
	crash := &crashrig.Crashing{After: true, Killed: make(chan struct{})}
	crash.At = 1 << 30
	stop := runSchedules(w, clock, func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})

	var creating sync.WaitGroup
	for part := range 8 {
		creating.Go(func() {
			for i := part; i < n; i += 8 {
				w.Schedule(fmt.Sprintf("s-%d", i), once(minute), utc)
			}
		})
	}

	creating.Wait()
	w.WaitSchedule(fmt.Sprintf("s-%d", n-1), "to be seen",
		func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return !s.NextRun.IsZero() })
	kit.Wait(t, "a status of every schedule", func(context.Context) error {
		return world.Want(w.MetricOf("sparkoperator_status_writes_total", "kind", "scheduledsparkapplication"), n)
	})
	crash.Mu.Lock()
	crash.At = crash.Seen + n // each run is followed by its status and its driver's objects, some of which exist
	crash.Mu.Unlock()
	release()
	<-crash.Killed
	stop()
	runSchedules(w, clock)

	runs := map[string]int{}
	kit.Wait(t, "every schedule to have its run", func(ctx context.Context) error {
		var list v1beta2.SparkApplicationList
		if err := w.API.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}

		clear(runs)

		for _, run := range list.Items {
			runs[run.OwnerReferences[0].Name]++
		}
		return world.Want(len(runs), n)
	})
	kit.Wait(t, "every schedule to report its run", func(ctx context.Context) error {
		var list v1beta2.ScheduledSparkApplicationList
		if err := w.API.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}

		for _, s := range list.Items {
			if s.Status.LastRunName != machine.RunName(s.Name, minute, machine.Nanos) {
				return fmt.Errorf("the last run of %s is %q", s.Name, s.Status.LastRunName)
			}
		}
		return nil
	})
	maps.DeleteFunc(runs, func(_ string, n int) bool { return n == 1 })

	if len(runs) > 0 {
		t.Errorf("runs that were created twice: %v", runs)
	}
}

// TestScheduleIsTakenOver checks that an inherited schedule continues. The operator finds the last run of the schedule,
// whatever its name, and does not start that run again. The runs are then kept or deleted by the rules of this
// operator.
func TestScheduleIsTakenOver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Schedule("nightly", scene.Seldom, forbid, keeps(1, 1))
	began := time.Now().Add(-time.Hour).UTC()
	left := func(ago time.Duration, state v1beta2.ApplicationStateType) string {
		name := fmt.Sprintf("nightly-%d", began.Add(-ago).UnixNano())
		w.Application(name, func(app *v1beta2.SparkApplication) {
			app.Labels = map[string]string{sparkoperator.LabelScheduledAppName: "nightly"}
			app.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "ScheduledSparkApplication", Name: "nightly",
				UID: s.UID, BlockOwnerDeletion: new(true),
			}}
		})
		w.EndRun(name, state)
		return name
	}
	oldest, failed := left(48*time.Hour, v1beta2.ApplicationStateCompleted),
		left(24*time.Hour, v1beta2.ApplicationStateFailed)

	time.Sleep(1100 * time.Millisecond) // creation times have a resolution of seconds, and the newest run is kept

	last := left(0, v1beta2.ApplicationStateCompleted)

	s.Status = v1beta2.ScheduledSparkApplicationStatus{
		LastRun: metav1.NewTime(began), NextRun: metav1.NewTime(began.AddDate(1, 0, 0)), LastRunName: last,
		ScheduleState:          v1beta2.ScheduleStateScheduled,
		PastSuccessfulRunNames: []string{oldest, last}, PastFailedRunNames: []string{failed},
	}
	if err := w.API.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}

	runSchedules(w, time.Now)
	got := w.WaitSchedule("nightly", "to be taken over", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.Operator != nil && slices.Equal(s.PastSuccessfulRunNames, []string{last})
	})
	waitRuns(w, s, failed, last)

	if got.Status.LastRunName != last || got.Status.ScheduleState != v1beta2.ScheduleStateScheduled {
		t.Errorf("its status is %+v", got.Status)
	}

	startRequestedRun(w, s, "one")
}
