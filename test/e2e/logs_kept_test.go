package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// keptLogs checks for each way in which a driver can end that its log is kept, or that the status has the reason why it
// is not. Then `sparkctl log` has to print the log without the pod as it did with the pod. Without the slow scenarios,
// keptLogs runs one of the ways for each place. It upgrades the release and does not undo this change.
func (w *suite) keptLogs(t *testing.T) {
	places := w.logPlaces(t)

	t.Run("parallel", func(t *testing.T) {
		for _, e := range driverEnds() {
			for _, place := range []string{inMaps, inStore, streamed} {
				if p := places[place]; p != nil && (e.sample == place || *wholeLife && slices.Contains(e.places, place)) {
					w.parallel(t, e.name+", "+place, func(t *testing.T) { p.keeps(t, e) })
				}
			}
		}

		if !*wholeLife {
			return
		}

		for name, p := range places {
			w.parallel(t, "spark.apache.org, "+name, p.keepsApache)
		}

		if p := places[inStore]; p != nil {
			w.parallel(t, "failed executor", p.keepsExecutor)
			w.parallel(t, "history limit of a schedule", p.outlivesSchedule)
			w.parallel(t, "application is deleted", p.outlivesApplication)
		}

		if p := places[streamed]; p != nil {
			w.parallel(t, "Connect server", p.keepsServer)
		}
	})

	if *wholeLife && w.Embedded() {
		t.Run("node lost", func(t *testing.T) { w.logsOfLostNode(t, places[inMaps], places[streamed]) })
	}
}

// driverEnd is a way in which a driver can end.
type driverEnd struct {
	name   string
	places []string
	sample string // the place in which also `make test` runs it; empty for none

	steps []string // of testdata/life/main.py
	class string   // of local/images/spark/java/failures, instead of steps
	spec  func(*v1beta2.SparkApplication)
	line  string // of the driver's log; the driver runs at least until it has written the line
	// executors is the number of executors.
	executors int
	// end ends the driver after it has written the line. If end is nil, the driver ends by itself.
	end func(t *testing.T, p *logPlace, app *v1beta2.SparkApplication, driver *corev1.Pod)

	state  v1beta2.ApplicationStateType // at the end
	reason string                       // of the condition Ready then, which proves that the driver ended in this way
	// races is set if the kubelet may remove the log before the operator can read it. A place with streamInterval then
	// has what was uploaded.
	races bool
}

// driverEnds returns the ways in which a driver can end. Most of these drivers start no Spark session, so that they
// cost little. With streamInterval, only the ways that are special there are played.
func driverEnds() []driverEnd {
	const sleeps = "step sleep"
	kept, everywhere := []string{inMaps, inStore}, []string{inMaps, inStore, streamed}

	return []driverEnd{
		{name: "success", places: everywhere, sample: inStore, steps: []string{"session"}, line: "SparkContext: Running Spark version",
			executors: 1,
			state:     completed, reason: "Succeeded"},
		{name: "exit code", places: kept, sample: inMaps, steps: []string{"fail"}, line: "failing as it was told",
			state: failed, reason: "Error"},
		{name: "exception", places: kept, class: "Throws", line: "thrown on purpose", state: failed, reason: "Error"},
		{name: "out of heap", places: kept, class: "HeapExhausted", line: "java.lang.OutOfMemoryError", state: failed, reason: "OutOfHeap"},
		{name: "out of memory", places: everywhere, class: "MemoryHog", line: "took 64 MiB", state: failed, reason: "OOMKilled"},
		{name: "killed JVM", places: kept, steps: []string{"sleep"}, line: sleeps, end: killJVM, state: failed, reason: "Killed"},
		{name: "evicted", places: kept, steps: []string{"sleep"}, line: sleeps, end: evictDriver, state: failed, reason: "Evicted"},
		{name: "evicted by the kubelet", places: everywhere, steps: []string{"sleep"}, line: sleeps, spec: withSmallVolume, end: fillVolume,
			state: failed, reason: "Evicted", races: true},
		{name: "deleted", places: everywhere, sample: inStore, steps: []string{"sleep"}, line: sleeps, end: deleteDriver(),
			state: failed, reason: "DriverDeleted"},
		{name: "deleted by force", places: everywhere, sample: streamed, steps: []string{"sleep"}, line: sleeps,
			end: deleteDriver(client.GracePeriodSeconds(0)), state: failed, reason: "DriverNotFound or DriverDeleted", races: true},
		{name: "deadline", places: kept, steps: []string{"sleep"}, line: sleeps, spec: func(a *v1beta2.SparkApplication) {
			a.Spec.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(60))}
		}, state: failed, reason: "RunTimedOut"},
		{name: "suspended", places: kept, steps: []string{"sleep"}, line: sleeps, end: patchApp(`{"spec":{"suspend":true}}`),
			state: v1beta2.ApplicationStateSuspended, reason: "Suspended"},
		{name: "edited", places: kept, steps: []string{"sleep"}, line: sleeps, end: patchApp(`{"spec":{"arguments":["end"]}}`),
			state: completed, reason: "Succeeded"},
	}
}

// killJVM kills the driver's JVM, as the kernel does.
func killJVM(t *testing.T, p *logPlace, _ *v1beta2.SparkApplication, driver *corev1.Pod) {
	t.Helper()

	const script = `for p in /proc/[0-9]*; do if [[ $(readlink $p/exe) == */java ]]; then kill -KILL ${p#/proc/}; fi; done`
	if err := p.Kubectl(t.Context(), "exec", "--namespace", driver.Namespace, driver.Name, "--", "bash", "-c", script); err != nil {
		t.Fatal(err)
	}
}

func evictDriver(t *testing.T, p *logPlace, _ *v1beta2.SparkApplication, driver *corev1.Pod) {
	t.Helper()

	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: driver.Name, Namespace: driver.Namespace}}
	if err := p.Core.PolicyV1().Evictions(driver.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
}

// deleteDriver returns a function that deletes the driver's pod, as a user does.
func deleteDriver(options ...client.DeleteOption) func(*testing.T, *logPlace, *v1beta2.SparkApplication, *corev1.Pod) {
	return func(t *testing.T, p *logPlace, _ *v1beta2.SparkApplication, driver *corev1.Pod) {
		t.Helper()

		if err := p.Client.Delete(t.Context(), driver, options...); err != nil {
			t.Fatal(err)
		}
	}
}

// patchApp returns a function that changes the application.
func patchApp(patch string) func(*testing.T, *logPlace, *v1beta2.SparkApplication, *corev1.Pod) {
	return func(t *testing.T, p *logPlace, app *v1beta2.SparkApplication, _ *corev1.Pod) {
		t.Helper()
		p.patch(t, app, patch)
	}
}

// withSmallVolume mounts a volume with a size limit.
func withSmallVolume(a *v1beta2.SparkApplication) {
	a.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Mi"))},
	}}}
	a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
}

// fillVolume exceeds the limit of withSmallVolume.
func fillVolume(t *testing.T, p *logPlace, _ *v1beta2.SparkApplication, driver *corev1.Pod) {
	t.Helper()

	const script = "head -c 8M /dev/zero > /scratch/filling"
	if err := p.Kubectl(t.Context(), "exec", "--namespace", driver.Namespace, driver.Name, "--", "bash", "-c", script); err != nil {
		t.Fatal(err)
	}
}

// app returns the application of a driver that ends in a way.
func (p *logPlace) app(t *testing.T, e driverEnd) *v1beta2.SparkApplication {
	t.Helper()

	change := func(a *v1beta2.SparkApplication) {
		a.Name, a.Namespace = "logs-"+strings.ToLower(strings.ReplaceAll(e.name, " ", "-")), p.namespace
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever}
		a.Spec.Executor.Instances = new(int32(1))

		if e.spec != nil {
			e.spec(a)
		}

		conf := maps.Clone(timeouts)
		maps.Copy(conf, a.Spec.SparkConf)
		a.Spec.SparkConf = conf
	}

	if e.class == "" {
		return p.scriptedApp(t, "", e.steps, change)
	}
	return p.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Spec.Arguments = nil
		failingClass(a, e.class)
		change(a)
	})
}

// keeps lets a driver end in a way.
func (p *logPlace) keeps(t *testing.T, e driverEnd) {
	app := p.app(t, e)
	p.create(t, app)
	facts := p.watchPods(t, app)

	if e.end != nil {
		driver := p.untilLogged(t, app, "driver", e.line)
		if e.races {
			p.untilUploaded(t, app, e.line)
		}

		e.end(t, p, app, driver)
	}

	p.await(t, app, patience, string(e.state), func(a *v1beta2.SparkApplication) bool {
		return slices.Contains(states(completed, failed, v1beta2.ApplicationStateSuspended), a.Status.AppState.State)
	})

	atEnd := app.DeepCopy()

	if state := app.Status.AppState.State; state != e.state {
		t.Fatalf("ended as %s, want %s\n%s", state, e.state, p.describe(t, app))
	}

	if c := condition(app, "Ready"); !slices.Contains(strings.Split(e.reason, " or "), c.Reason) {
		t.Errorf("condition Ready is %+v, want the reason %s", c, e.reason)
	}

	lost := false
	if e.races {
		index := p.awaitIndex(t, app, 1, "the log, or the reason", func(x *store.Index) bool { return x.Driver != nil })
		lost = !isWhole(index)
		t.Logf("the log of the driver is lost: %t", lost)
	}

	if lost {
		p.deletePods(t, app)
		p.loses(t, app, e.line)
	} else {
		p.awaitWhole(t, app, 1)
		p.awaitLogs(t, app, "a kept log", isKept(app.Status.Operator.Attempt))
		p.outlives(t, app, 1, "driver", e.line)
	}

	if last := app.Status.Operator.Attempt; last > 1 {
		p.readsAttempts(t, app, last)
	}

	recorded := p.url != "" && !e.races && app.Status.Operator.Attempt == 1 && e.state != v1beta2.ApplicationStateSuspended

	p.remove(t, app)

	if recorded {
		p.outlivesAsRecord(t, atEnd, app, facts, e.executors)
	}
}

// readsAttempts checks that `sparkctl log` prints the logs of the last attempt and of the attempt before. The pods are
// gone.
func (p *logPlace) readsAttempts(t *testing.T, app *v1beta2.SparkApplication, last int32) {
	t.Helper()

	first, second := p.printed(t, app, "--attempt=1"), p.printed(t, app, "--follow")
	if last != 2 || !strings.Contains(second, "step end") || strings.Contains(second, "step sleep") {
		t.Errorf("the log of attempt %d, the last, is:\n%s", last, second)
	}

	if got := p.printed(t, app, "--previous"); got != first {
		t.Errorf("with --previous the log is:\n%s\nwant:\n%s", got, first)
	}
}

// untilUploaded waits until a line of a running driver's log was uploaded, if the place has uploads.
func (p *logPlace) untilUploaded(t *testing.T, o client.Object, line string) {
	t.Helper()

	if p.namespace != logNamespaces[streamed] {
		return
	}

	eventually(t, patience, "the upload of "+line, func() (string, bool) {
		text := p.uploaded(t, o)
		return text, strings.Contains(text, line)
	})
}

// uploaded returns the text that was uploaded of the log of a running driver's first attempt.
func (p *logPlace) uploaded(t *testing.T, o client.Object) (all string) {
	t.Helper()

	uploads, attempt := p.logs.(*store.Bucket), p.attempt(o, 1)

	offsets, err := uploads.Parts(t.Context(), attempt)
	if err != nil {
		t.Fatal(err)
	}

	for _, offset := range offsets {
		part, data, err := uploads.ReadPart(t.Context(), attempt, offset)
		if err != nil || part == nil {
			t.Fatalf("the part at %d: %v", offset, err)
		}

		text, err := store.Plain(data, part.Bytes)
		if err != nil {
			t.Fatal(err)
		}

		all = all[:min(int(offset), len(all))] + string(text)
	}
	return all
}

// loses checks that the status has the reason why a log was not kept, and that `sparkctl log` prints the reason. With
// uploads it prints the log up to the last upload, which has a line.
func (p *logPlace) loses(t *testing.T, app *v1beta2.SparkApplication, line string) {
	t.Helper()

	var found *statusv1.OperatorLogs
	p.awaitLogs(t, app, "the reason why the log is not kept", func(l *statusv1.OperatorLogs) bool {
		found = l
		return l.Reason != "" && l.KeptAt == nil
	})
	t.Logf("%s: %s", found.Reason, found.Message)

	if c := condition(app, "LogsNotKept"); c.Status != "True" || c.Reason != found.Reason || c.Message != found.Message {
		t.Errorf("the condition is %+v, and the status has %+v", c, found)
	}

	p.awaitEvent(t, app, "an event with the reason", func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && e.Reason == "LogsNotKept" && strings.Contains(e.Message, app.Status.DriverInfo.PodName)
	})

	text, notes, err := p.log(t, app)
	if p.namespace != logNamespaces[streamed] {
		if err == nil || !strings.Contains(notes, "not kept") {
			t.Errorf("sparkctl log: %v\n%s%s", err, text, notes)
		}
		return
	}

	if err != nil || !strings.Contains(text, line) || !strings.Contains(strings.Join(strings.Fields(notes), " "), "may lack its end") ||
		!strings.Contains(found.Message, "the operator has uploaded it until ") {
		t.Errorf("sparkctl log: %v\n%s%s", err, text, notes)
	}
}

// keepsApache checks the logs of applications of spark.apache.org, whose pods the operator deletes at their end.
func (p *logPlace) keepsApache(t *testing.T) {
	for _, test := range []struct {
		name, step, line string
		deleted          bool
		last             []apacheState
	}{
		{"success", "end", "step end", false, []apacheState{appSucceeded, appReleased}},
		{"failure", "fail", "failing as it was told", false, []apacheState{appFailed, appReleased}},
		{"deleted", "sleep", "step sleep", true, []apacheState{appFailed, appReleased}},
	} {
		p.parallel(t, test.name, func(t *testing.T) {
			app := scriptedApacheApp(t, "logs-apache-"+test.name, `{}`, test.step)
			app.Namespace = p.namespace
			p.create(t, app)

			if test.deleted {
				if err := p.Client.Delete(t.Context(), p.untilLogged(t, app, "driver", test.line)); err != nil {
					t.Fatal(err)
				}
			}

			p.awaitApache(t, app, patience, appReleased)

			if got := history(t, app.Status.StateTransitionHistory); len(got) < 2 || !slices.Equal(got[len(got)-2:], test.last) {
				t.Errorf("the states are %v, want %v at the end", got, test.last)
			}

			p.awaitWhole(t, app, 1)
			p.awaitLogs(t, app, "a kept log", isKept(1))
			p.outlives(t, app, 1, "driver", test.line)
			p.remove(t, app)
		})
	}
}

// keepsExecutor checks that the log of an executor that fails is kept, although Spark deletes its pod.
func (p *logPlace) keepsExecutor(t *testing.T) {
	app := p.app(t, driverEnd{name: "failed executor", class: "TaskFails", spec: func(a *v1beta2.SparkApplication) {
		a.Spec.Arguments, a.Spec.SparkConf = []string{"exit"}, map[string]string{"spark.task.maxFailures": "1"}
	}})
	p.create(t, app)
	p.awaitEnd(t, app, patience, failed)

	index := p.awaitIndex(t, app, 1, "the logs of the driver and of an executor", func(x *store.Index) bool {
		return isWhole(x) && len(x.Executors) > 0
	})
	p.deletePods(t, app)

	first := index.Executors[0]
	if text := p.printed(t, app, "--executor", first.Executor); first.Name == "" || !strings.Contains(text, "CoarseGrainedExecutorBackend") {
		t.Errorf("the index has %+v, and the log is:\n%s", first, text)
	}

	if text := p.printed(t, app, "--executor", "all"); !strings.Contains(text, "["+first.Pod+"] ") {
		t.Errorf("the logs of all executors are:\n%s", text)
	}

	p.remove(t, app)
}

// outlivesSchedule checks that the log of a run is kept which the history limit of its schedule deletes.
func (p *logPlace) outlivesSchedule(t *testing.T) {
	s := p.schedule(t, "logs-of-runs", "0 3 1 1 *", func(s *v1beta2.ScheduledSparkApplication) {
		s.Namespace, s.Spec.SuccessfulRunHistoryLimit = p.namespace, new(int32(0))
		s.Spec.Template = p.scriptedApp(t, "", []string{"end"}, nil).Spec
	})
	p.create(t, s)
	run := p.request(t, s, "now")
	p.awaitGone(t, run)
	p.awaitWhole(t, run, 1)

	if text := p.text(t, run, 1, store.DriverFile); !strings.Contains(text, "step end") {
		t.Errorf("the log of the run is:\n%s", text)
	}

	p.remove(t, s)
}

// outlivesApplication checks that the log of a driver is kept whose application a user deletes.
func (p *logPlace) outlivesApplication(t *testing.T) {
	app := p.app(t, driverEnd{name: "of nobody", steps: []string{"sleep"}})
	p.create(t, app)
	p.untilLogged(t, app, "driver", "step sleep")
	p.remove(t, app)
	p.awaitWhole(t, app, 1)

	if text := p.text(t, app, 1, store.DriverFile); !strings.Contains(text, "step sleep") {
		t.Errorf("the log is:\n%s", text)
	}

	if r := p.record(t, app.Name); r.Outcome != run.Deleted || r.UID != app.UID || r.Attempts != 1 || r.Usage.CPUMillicoreSeconds == 0 || !strings.Contains(r.Links.Logs, string(app.UID)) {
		t.Errorf("the record is %+v", r)
	}
}

// keepsServer checks the logs of the pods of a Connect server: of the first, which a user deletes, and of the second,
// which a suspension deletes.
func (p *logPlace) keepsServer(t *testing.T) {
	const line, role = "SparkContext: Running Spark version", "connect-server"

	server := p.connectServer(t, "logs-connect", func(s *v1alpha1.SparkConnect) { s.Namespace = p.namespace })
	p.create(t, server)
	first := p.awaitServer(t, server, "")

	if err := p.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}

	p.awaitServer(t, server, first.UID)
	p.edit(t, server, func(s *v1alpha1.SparkConnect) { s.Spec.Suspend = new(true) })
	p.awaitServerCondition(t, server, "Suspended", metav1.ConditionTrue)

	last := server.Status.Operator.Attempt
	for number := last - 1; number <= last; number++ {
		p.awaitWhole(t, server, number)
		p.outlives(t, server, number, role, line)
	}

	p.awaitLogs(t, server, "a kept log", isKept(last))
	p.remove(t, server)
}
