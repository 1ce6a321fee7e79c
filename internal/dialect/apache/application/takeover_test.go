package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// inheritedStatus returns a change that gives an application a status as the other operator writes it. The history has
// the given states at intervals of one second, in that operator's time format. The last state is 10 s old.
func inheritedStatus(id int64, all ...sparkv1.ApplicationStateSummary) func(*sparkv1.SparkApplication) {
	return func(app *sparkv1.SparkApplication) {
		s := &app.Status

		s.StateTransitionHistory = map[string]sparkv1.ApplicationState{}
		for i, state := range all {
			at := t0.Add(time.Duration(i-len(all)+1)*time.Second - 10*time.Second)
			entry := sparkv1.ApplicationState{CurrentStateSummary: state,
				LastTransitionTime: at.Format("2006-01-02T15:04:05.000000000Z"), Message: "in its words"}
			s.StateTransitionHistory[fmt.Sprint(i)], s.CurrentState = entry, &entry
		}

		s.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{ID: id,
			RestartCounter: id, FailureRestartCounter: id}}
	}
}

// ladder lists the states until the driver is ready.
var ladder = []sparkv1.ApplicationStateSummary{sparkv1.ApplicationDriverRequested, sparkv1.ApplicationDriverStarted,
	sparkv1.ApplicationDriverReady}

// path returns the states that an application enters until it reaches the target.
func path(target sparkv1.ApplicationStateSummary) []sparkv1.ApplicationStateSummary {
	way := append([]sparkv1.ApplicationStateSummary{sparkv1.ApplicationSubmitted}, ladder...)
	switch target {
	case sparkv1.ApplicationSubmitted, sparkv1.ApplicationScheduledToRestart, sparkv1.ApplicationSchedulingFailure:
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationSubmitted, target}
	case sparkv1.ApplicationResourceReleased, sparkv1.ApplicationTerminatedWithoutReleaseResources:
		return append(way, sparkv1.ApplicationRunningHealthy, sparkv1.ApplicationFailed, target)
	}

	if at := status.Rank(target); at >= 0 && at < len(ladder) {
		return way[:at+2]
	}
	return append(way, target)
}

// inheritedDriver returns an observation of one inherited driver pod, to which the given changes are applied.
func (l *life) inheritedDriver(change ...func(*lifecycle.Driver)) lifecycle.Observed {
	d := lifecycle.Driver{Name: "pi-2-driver", Attempt: 3, AppID: "pi-2", AttemptID: "pi-2",
		Phase: lifecycle.DriverRunning, CreatedAt: t0.Add(-time.Minute)}
	for _, c := range change {
		c(&d)
	}
	return lifecycle.Observed{Drivers: []lifecycle.Driver{d}, ProbeResult: &lifecycle.Cause{}}
}

// TestTakeOverEveryState checks that the operator continues an application from every state that the other operator
// writes. It must not launch a second driver while a driver runs, and must not report a state twice.
func TestTakeOverEveryState(t *testing.T) {
	for _, state := range everyState {
		t.Run(string(state), func(t *testing.T) {
			for _, a := range []Applications{trimmed, whole} {
				l := begin(t, a, inheritedStatus(2, path(state)...),
					tolerating(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways,
						RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartAlways,
							RestartBackoffMillis: new(int64(10_000))}}))
				before := shortened(l.app.Status.StateTransitionHistory)

				want, launched := "", false
				switch m, _ := status.Meaning(state); {
				case status.Rank(state) == 0, status.Rank(state) == 1, status.Rank(state) == 2, status.Rank(state) == 3:
					l.pass(0, l.inheritedDriver(ready))

					want = ", " + strings.Join(numbered(append(slices.Clone(ladder[min(status.Rank(state)+1,
						len(ladder)):]), sparkv1.ApplicationRunningHealthy), len(path(state))), ", ")
				case status.Rank(state) == 4:
					l.pass(0, l.inheritedDriver(ready))

					if state != sparkv1.ApplicationRunningHealthy {
						want = fmt.Sprintf(", %d RunningHealthy", len(path(state))) // because the spec sets no thresholds
					}
				case m.Phase == lifecycle.Ended:
					l.pass(0, lifecycle.Observed{Confirmed: true})

					want, launched = fmt.Sprintf(", %d ScheduledToRestart, %d DriverRequested", len(path(state)),
						len(path(state))+1), true
				case m.Phase == lifecycle.Suspending:
					l.pass(0, lifecycle.Observed{Confirmed: true})

					want, launched = fmt.Sprintf(", %d Submitted, %d DriverRequested", len(path(state)),
						len(path(state))+1), true
				case m.Phase == lifecycle.Waiting, m.Phase == lifecycle.New:
					l.pass(0, lifecycle.Observed{Confirmed: true})

					want, launched = fmt.Sprintf(", %d DriverRequested", len(path(state))), true
				default:
					l.pass(0, lifecycle.Observed{Confirmed: true})
				}

				got := shortened(l.app.Status.StateTransitionHistory)
				if p := l.app.Status.PreviousAttemptSummary; p != nil && a.Trim {
					got = shortened(p.StateTransitionHistory) + ", " + got
				}

				if diff := cmp.Diff(before+want, got); diff != "" {
					t.Errorf("trimmed %v (-want +got):\n%s", a.Trim, diff)
				}

				creates := false
				for _, action := range l.plan.Actions {
					creates = creates || action.Verb == lifecycle.Create
				}

				if creates != launched {
					t.Errorf("actions %v", l.plan.Actions)
				}

				if taken := fmt.Sprint(l.events); !strings.Contains(taken, dialect.EventTakenOver) {
					t.Errorf("no event reports the take-over: %v", taken)
				}
			}
		})
	}
}

func numbered(all []sparkv1.ApplicationStateSummary, from int) (out []string) {
	for i, state := range all {
		out = append(out, fmt.Sprint(from+i, " ", state))
	}
	return out
}

// TestTakenOverNumbersGoOn checks that an inherited attempt keeps its number and its counters, and that later attempts
// continue from them.
func TestTakenOverNumbersGoOn(t *testing.T) {
	l := begin(t, trimmed, inheritedStatus(2, path(sparkv1.ApplicationRunningHealthy)...),
		restarting(sparkv1.RestartOnFailure))
	l.pass(0, l.inheritedDriver(ready)).expectAttempt(2, 2, 2, 0)

	if m := l.plan.Next; m.Attempt != 3 || m.AttemptID != "pi-2" || len(l.plan.Actions) > 0 {
		t.Errorf("taken over as attempt %d, %q, and %v", m.Attempt, m.AttemptID, l.plan.Actions)
	}

	l.pass(time.Second, l.inheritedDriver(crashed)).expectAttempt(3, 3, 3, 0)

	if m := l.plan.Next; m.Phase != lifecycle.Waiting || m.Restarts.Total != 3 {
		t.Errorf("its failure is followed by %+v", m)
	}

	l.passWithoutObjects(10 * time.Second)

	if m := l.plan.Next; m.Attempt != 4 || m.AttemptID != "pi-3" {
		t.Errorf("followed by attempt %d, %q; want 4 and pi-3", m.Attempt, m.AttemptID)
	}
}

// TestTakenOverTimes checks that deadlines, back-offs, retention and expiry count from the times that the other
// operator stored.
func TestTakenOverTimes(t *testing.T) {
	hour := tolerating(sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: new(int64(15_000))},
		ResourceRetainPolicy: sparkv1.RetainAlways, ResourceRetainDurationMillis: new(int64(30_000)),
		TTLAfterStopMillis: new(int64(60_000))})
	pending := func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverPending }

	l := begin(t, trimmed, inheritedStatus(2, path(sparkv1.ApplicationDriverRequested)...), hour)
	if l.pass(4*time.Second, l.inheritedDriver(pending)); l.plan.Next.Phase != lifecycle.Launched ||
		l.plan.RequeueAfter != time.Second {
		t.Errorf("a second before its deadline it is %s, and looked at again after %s", l.plan.Next.Phase,
			l.plan.RequeueAfter)
	}

	if l.pass(time.Second, l.inheritedDriver(pending)); l.plan.Next.Outcome != lifecycle.StartTimedOut {
		t.Errorf("at its deadline it is %+v", l.plan.Next)
	}

	l = begin(t, trimmed, inheritedStatus(2, path(sparkv1.ApplicationTerminatedWithoutReleaseResources)...), hour)
	if l.pass(19*time.Second, l.inheritedDriver(crashed)); l.plan.Next.Phase != lifecycle.Retained ||
		l.plan.RequeueAfter != time.Second {
		t.Errorf("a second before its release it is %s, and looked at again after %s", l.plan.Next.Phase,
			l.plan.RequeueAfter)
	}

	if l.pass(time.Second, l.inheritedDriver(crashed)).passWithoutObjects(time.Second); l.plan.Next.Phase != lifecycle.Done {
		t.Errorf("after its release it is %s", l.plan.Next.Phase)
	}

	if l.passWithoutObjects(time.Minute); len(l.plan.Actions) != 1 || l.plan.Actions[0].Part != lifecycle.Application {
		t.Errorf("after its time to live: %v", l.plan.Actions)
	}

	l = begin(t, trimmed, inheritedStatus(3, sparkv1.ApplicationFailed, sparkv1.ApplicationScheduledToRestart),
		restarting(sparkv1.RestartOnFailure,
			func(c *sparkv1.RestartConfig) { c.RestartBackoffMillisForFailure = new(int64(25_000)) }))
	if l.passWithoutObjects(14 * time.Second); l.plan.Next.Phase != lifecycle.Waiting ||
		l.plan.RequeueAfter != time.Second || l.plan.Next.Attempt != 3 {
		t.Errorf("a second before the next attempt it is %+v, and looked at again after %s", l.plan.Next,
			l.plan.RequeueAfter)
	}

	if l.passWithoutObjects(time.Second); l.plan.Next.Phase != lifecycle.Launched || l.plan.Next.Attempt != 4 {
		t.Errorf("then it is %+v", l.plan.Next)
	}
}

// TestStuckApplicationsEnd checks that our operator permanently ends an application that could never end under the
// other operator. The application is in client mode with the restart policy Always, and each pass of the other operator
// added the state Failed to the history.
func TestStuckApplicationsEnd(t *testing.T) {
	loop := []sparkv1.ApplicationStateSummary{sparkv1.ApplicationSubmitted}
	for range 3 * status.MaxHistory {
		loop = append(loop, sparkv1.ApplicationFailed)
	}

	client := func(a *sparkv1.SparkApplication) { a.Spec.DeploymentMode = sparkv1.ClientMode }

	l := begin(t, whole, inheritedStatus(0, loop...), restarting(sparkv1.RestartAlways), client)
	for range 5 {
		l.passWithoutObjects(time.Second)
	}

	past := l.app.Status.StateTransitionHistory
	if last := past[fmt.Sprint(3*status.MaxHistory+1)]; len(past) != status.MaxHistory ||
		last.CurrentStateSummary != sparkv1.ApplicationResourceReleased {
		t.Errorf("%d states, the last of them %+v", len(past), last)
	}

	l = begin(t, whole, inheritedStatus(0, loop[:3]...), client,
		func(a *sparkv1.SparkApplication) { a.DeletionTimestamp = new(metav1.NewTime(t0)) })
	if l.passWithoutObjects(0); len(l.plan.Actions) > 0 {
		t.Errorf("its deletion waits for %v", l.plan.Actions)
	}
}

// TestUnknownState checks that the operator does not act on an application in a state that this API does not have.
func TestUnknownState(t *testing.T) {
	l := begin(t, trimmed, inheritedStatus(0, "Paused"))
	before := l.app.Status.DeepCopy()
	plan := l.a.Decide(l.app, lifecycle.Observed{Confirmed: true}, t0)

	c := l.app.Status.Conditions
	if len(plan.Actions) > 0 || len(c) != 1 || c[0].Reason != dialect.ReasonOtherOperator {
		t.Errorf("actions %v, conditions %+v", plan.Actions, c)
	}

	l.app.Status.Conditions = nil
	if diff := cmp.Diff(*before, l.app.Status); diff != "" {
		t.Errorf("its status was changed:\n%s", diff)
	}
}

// TestAdopt checks that Adopt finds inherited pods by their owner, and the attempt of a pod by spark.app.id.
func TestAdopt(t *testing.T) {
	owned := metav1.OwnerReference{APIVersion: "spark.apache.org/v1", Kind: "SparkApplication", Name: "pi",
		UID: pi().UID}
	pod := func(role, id, uid string, owners ...metav1.OwnerReference) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: id + "-" + role, UID: types.UID(uid),
			OwnerReferences: owners, Labels: map[string]string{
				apache.LabelOperatorName: apache.DefaultOperatorName, apache.LabelAppName: "pi", "spark-role": role,
				submit.SelectorLabel: id,
			}}}
	}
	ownedBy := func(uid string) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: "Pod", UID: types.UID(uid), Controller: new(true)}
	}
	stranger := metav1.OwnerReference{Kind: "SparkApplication", Name: "pi", UID: "another"}
	current, earlier := pod("driver", "pi-2", "d2", owned), pod("driver", "pi-1", "d1", owned)

	live := inheritedStatus(2, path(sparkv1.ApplicationRunningHealthy)...)
	for _, c := range []struct {
		name string
		app  func(*sparkv1.SparkApplication)
		pods []corev1.Pod
		want map[string]string // attempts by the pods' UIDs
	}{
		{"driver and executors of the current attempt", live,
			[]corev1.Pod{current, pod("executor", "pi-2", "e", ownedBy("d2")), pod("executor", "pi-2", "o")},
			map[string]string{"d2": "3", "e": "3", "o": "3"}},
		{"driver of an earlier attempt", live, []corev1.Pod{earlier, current}, map[string]string{"d1": "0", "d2": "3"}},
		{"a launch that was not stored",
			inheritedStatus(2, sparkv1.ApplicationFailed, sparkv1.ApplicationScheduledToRestart), []corev1.Pod{current},
			map[string]string{"d2": "3"}},
		{"the first launch, which was not stored", func(*sparkv1.SparkApplication) {},
			[]corev1.Pod{pod("driver", "pi-0", "d0", owned)}, map[string]string{"d0": "1"}},
		{"driver of a spec that was edited after the launch",
			func(a *sparkv1.SparkApplication) { live(a); a.Spec.SparkConf["spark.app.id"] = "mine" },
			[]corev1.Pod{current}, map[string]string{"d2": "3"}},
		{"retained driver of a spec that was edited after the launch", func(a *sparkv1.SparkApplication) {
			inheritedStatus(2, path(sparkv1.ApplicationTerminatedWithoutReleaseResources)...)(a)
			a.Spec.SparkConf["spark.app.id"] = "mine"
		}, []corev1.Pod{current}, map[string]string{"d2": "3"}},
		{"ended driver of a spec that was edited after the launch", func(a *sparkv1.SparkApplication) {
			inheritedStatus(2, path(sparkv1.ApplicationSucceeded)...)(a)
			a.Spec.SparkConf["spark.app.id"] = "mine"
		}, []corev1.Pod{current}, map[string]string{"d2": "0"}},
		{"driver with an id that the user set",
			func(a *sparkv1.SparkApplication) { live(a); a.Spec.SparkConf["spark.app.id"] = "mine" },
			[]corev1.Pod{pod("driver", "mine", "dm", owned)}, map[string]string{"dm": "3"}},
		{"driver of a long name, of which the id contains only a part",
			func(a *sparkv1.SparkApplication) { live(a); a.Name = strings.Repeat("long", 12) },
			[]corev1.Pod{pod("driver", naming.NewID(pi(func(a *sparkv1.SparkApplication) { a.Name = strings.Repeat("long", 12) }), 3), "dl", owned)}, map[string]string{"dl": "3"}},
		{"driver of an application that was taken over before", func(a *sparkv1.SparkApplication) {
			live(a)
			a.Status.Operator = &sparkv1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Phase: "Running",
				Attempt: 3}, AttemptID: "pi-2"}
		}, []corev1.Pod{current}, map[string]string{"d2": "3"}},
		{"inherited driver of an attempt before one of ours", func(a *sparkv1.SparkApplication) {
			live(a)
			a.Status.Operator = &sparkv1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Phase: "Running",
				Attempt: 4}, AttemptID: "pi-3"}
		}, []corev1.Pod{current}, map[string]string{"d2": "0"}},
		{"pods of another application", live,
			[]corev1.Pod{pod("driver", "pi-2", "x", stranger), pod("driver", "pi-2", "y"),
				pod("executor", "pi-2", "z", ownedBy("x"))}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			app, got := pi(c.app), map[string]string{}
			for _, found := range trimmed.Adopt(app, c.pods) {
				got[string(found.UID)] = found.Labels[apache.LabelAttempt]
				if found.Labels[apache.LabelAppUID] != string(app.UID) ||
					found.Annotations[lifecycle.AdoptedAnnotation] != found.Labels[submit.SelectorLabel] {
					t.Errorf("%s has no identity: %v %v", found.UID, found.Labels, found.Annotations)
				}

				if found.Labels["spark-role"] == "driver" && !metav1.IsControlledBy(&found, app) {
					t.Errorf("%s is controlled by %v", found.UID, found.OwnerReferences)
				}
			}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}

			for _, given := range c.pods {
				if given.Labels[apache.LabelAttempt] != "" {
					t.Errorf("%s was changed itself", given.UID)
				}
			}
		})
	}
}

// TestTracesAreCut checks that stack traces in the other operator's messages are cut. With hundreds of full stack
// traces the status would exceed the maximum size that the API server stores.
func TestTracesAreCut(t *testing.T) {
	long := func(a *sparkv1.SparkApplication) {
		for key, state := range a.Status.StateTransitionHistory {
			state.Message = strings.Repeat("at org.example.Main\n", 500)
			a.Status.StateTransitionHistory[key] = state
		}
	}
	l := begin(t, whole, inheritedStatus(0, sparkv1.ApplicationSubmitted, sparkv1.ApplicationDriverRequested,
		sparkv1.ApplicationSchedulingFailure), long)
	l.passWithoutObjects(time.Second)

	first := maps.Clone(l.app.Status.StateTransitionHistory)
	for key, state := range first {
		if len(state.Message) > apache.MaxMessage+len(lifecycle.CutMark) {
			t.Errorf("state %s has a message of %d bytes", key, len(state.Message))
		}
	}

	l.passWithoutObjects(time.Second)

	for key, state := range first {
		if diff := cmp.Diff(state, l.app.Status.StateTransitionHistory[key]); diff != "" {
			t.Errorf("state %s changes with the next pass:\n%s", key, diff)
		}
	}
}
