package application

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

func asksQueue(plan lifecycle.Plan) bool {
	return slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool {
		return a.Verb == lifecycle.Create && a.Part == lifecycle.QuotaRequest
	})
}

var (
	inQueue  = lifecycle.Quota{Name: "sparkapplication-pi", Requested: true, Attempt: 1}
	admitted = lifecycle.Quota{Name: "sparkapplication-pi", Requested: true, Attempt: 1, Reserved: true}
	pending  = waiting(inQueue)
	spot     = lifecycle.Placement{
		NodeSelector: map[string]string{"pool": "spot"}, Labels: map[string]string{"cost": "low"}, Annotations: map[string]string{"check": "passed"},
		Tolerations: []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}, Source: "ResourceFlavor spot",
	}
)

func waiting(q lifecycle.Quota) lifecycle.Quota {
	q.Wait = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "Workload sparkapplication-pi is not admitted"}
	return q
}

func placed(q lifecycle.Quota) lifecycle.Quota {
	q.Placement = map[string]lifecycle.Placement{"driver": spot, "executor": spot}
	return q
}

// queued runs a pass of an application in a queue, which has the given request and gives the given answer.
func (l *life) queued(seen lifecycle.Observed, q, answer lifecycle.Quota) *life {
	l.Helper()
	l.answer, seen.Quota = answer, &q
	return l.pass(time.Second, seen)
}

// TestWaitInQueue checks that a new application in a queue gets no state before it is admitted, and reports each wait
// reason once.
func TestWaitInQueue(t *testing.T) {
	failed := inQueue
	failed.Wait = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaRequestFailed, Message: "forbidden"}

	l := begin(t, trimmed)
	l.queued(lifecycle.Observed{}, lifecycle.Quota{}, pending).queued(lifecycle.Observed{}, inQueue, pending).expectReady("KueueAdmissionPending")
	l.expectEvents("KueueAdmissionPending").queued(lifecycle.Observed{}, inQueue, failed).expectReady("KueueAdmissionRequestFailed")

	if s := l.app.Status; s.CurrentState != nil || s.Operator != nil {
		t.Errorf("it has a state: %+v", s)
	}

	if kind := l.events[0].Type; kind != corev1.EventTypeNormal || l.events[1].Type != corev1.EventTypeWarning {
		t.Errorf("the events are %+v", l.events)
	}

	l.events = nil
	l.queued(lifecycle.Observed{}, admitted, admitted).expectStates("0 Submitted, 1 DriverRequested")
	l.expectEvents("DriverRequested", "KueueAdmitted")
}

// TestEvictedFromQueue checks the states of an application that its queue evicts, and that is queued again.
func TestEvictedFromQueue(t *testing.T) {
	preempted := admitted
	preempted.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
	again := lifecycle.Quota{Name: "sparkapplication-pi", Requested: true, Attempt: 2}
	granted := again
	granted.Reserved = true

	l := begin(t, whole).queued(lifecycle.Observed{}, lifecycle.Quota{}, admitted).queued(lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1,
		Phase: lifecycle.DriverRunning, Ready: true, StartedAt: t0, ReadyAt: t0}}}, admitted, admitted)
	l.events = nil
	l.queued(lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}}, preempted, admitted)

	const past = "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy, 5 Suspended"
	l.expectStates(past).expectEvents("Suspended")

	if s := l.app.Status.CurrentState; s.SuspendReason != sparkv1.KueueEviction || !strings.Contains(s.Message, "Preempted: for another") {
		t.Errorf("the state is %+v", s)
	}

	l.queued(lifecycle.Observed{}, preempted, admitted).queued(lifecycle.Observed{}, preempted, admitted)

	if want := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.QuotaReturn, Attempt: 2}}; !slices.Equal(l.plan.Actions, want) {
		t.Errorf("requested %v, want %v", l.plan.Actions, want)
	}

	resumed := *l
	resumed.app = l.app.DeepCopy()
	resumed.queued(lifecycle.Observed{}, again, waiting(again)).expectStates(past + ", 6 Submitted").expectReady("KueueAdmissionPending")
	resumed.queued(lifecycle.Observed{}, granted, granted).expectStates(past + ", 6 Submitted, 7 DriverRequested")

	l.suspend(true).queued(lifecycle.Observed{}, again, waiting(again)).expectStates(past + ", 6 Suspended")

	if s := l.app.Status.CurrentState; s.SuspendReason != sparkv1.SpecSuspend {
		t.Errorf("the state is %+v", s)
	}

	off := *l
	off.app.Spec.Suspend = nil
	off.passWithoutObjects(time.Second).expectStates(past + ", 6 Suspended, 7 Submitted, 8 DriverRequested")
}

// TestPlacement checks that what a queue adds reaches the pods of the attempt that it admitted, also if their objects
// are rendered again, and no pod of the next attempt.
func TestPlacement(t *testing.T) {
	l := begin(t, whole).queued(lifecycle.Observed{}, lifecycle.Quota{}, placed(admitted))

	for name, action := range map[string]lifecycle.Action{"the launch": l.plan.Actions[0], "again": launchOf(1)} {
		made, err := l.a.Render(l.app, action, l.now)
		if err != nil {
			t.Fatal(err)
		}

		executor, err := l.a.Executor(l.app, 1, 1, "uid", l.now)
		if err != nil {
			t.Fatal(err)
		}

		for role, pod := range map[string]*corev1.Pod{"driver": made.Driver, "executor": executor} {
			if diff := cmp.Diff(spot.NodeSelector, pod.Spec.NodeSelector); diff != "" || pod.Labels["cost"] != "low" || pod.Annotations["check"] != "passed" ||
				!slices.Contains(pod.Spec.Tolerations, spot.Tolerations[0]) {
				t.Errorf("%s: the %s has %v %v %v", name, role, pod.Spec.NodeSelector, pod.ObjectMeta, pod.Spec.Tolerations)
			}
		}

		if !slices.ContainsFunc(made.Before, mentions("spot")) {
			t.Errorf("%s: the template of executors lacks the placement", name)
		}
	}

	if next := rendered(t, l.a, l.app, 2); next.Driver.Spec.NodeSelector["pool"] != "" {
		t.Error("the next attempt has the placement of this one")
	}
}

// mentions returns a function that reports whether a ConfigMap contains a text.
func mentions(text string) func(submit.Object) bool {
	return func(object submit.Object) bool {
		config, ok := object.(*corev1.ConfigMap)
		return ok && slices.ContainsFunc(slices.Collect(maps.Values(config.Data)), func(data string) bool { return strings.Contains(data, text) })
	}
}

// TestPlacementConflicts checks that a custom resource which contradicts its placement is rejected, with the field and
// the flavor.
func TestPlacementConflicts(t *testing.T) {
	template := func(text string) func(*sparkv1.SparkApplication) {
		return func(app *sparkv1.SparkApplication) {
			app.Spec.ExecutorSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(text)}
		}
	}
	conf := func(key, value string) func(*sparkv1.SparkApplication) {
		return func(app *sparkv1.SparkApplication) { app.Spec.SparkConf[key] = value }
	}

	for field, change := range map[string]func(*sparkv1.SparkApplication){
		"spec.executorSpec.podTemplateSpec.spec.nodeSelector[pool]":     template(`{"spec":{"nodeSelector":{"pool":"own"}}}`),
		"spec.executorSpec.podTemplateSpec.metadata.labels[cost]":       template(`{"metadata":{"labels":{"cost":"own"}}}`),
		"spec.executorSpec.podTemplateSpec.metadata.annotations[check]": template(`{"metadata":{"annotations":{"check":"own"}}}`),
		"spec.sparkConf[spark.kubernetes.node.selector.pool]":           conf("spark.kubernetes.node.selector.pool", "own"),
		"spec.sparkConf[spark.kubernetes.driver.label.cost]":            conf("spark.kubernetes.driver.label.cost", "own"),
		"spec.sparkConf[spark.kubernetes.executor.annotation.check]":    conf("spark.kubernetes.executor.annotation.check", "own"),
		"":                       template(`{"spec":{"nodeSelector":{"pool":"spot","zone":"a"}}}`),
		"no conflict of the key": conf("spark.kubernetes.node.selector.pool", "spot"),
	} {
		l := begin(t, whole, change).queued(lifecycle.Observed{}, lifecycle.Quota{}, placed(admitted))
		_, err := l.a.Render(l.app, l.plan.Actions[0], l.now)

		if !strings.HasPrefix(field, "spec.") {
			if err != nil {
				t.Errorf("%q: %v", field, err)
			}
			continue
		}

		if err == nil || !strings.HasPrefix(err.Error(), field) || !strings.Contains(err.Error(), "ResourceFlavor spot") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestPodsInQueue checks for which pods an application requests quota, and which applications cannot be in a queue.
func TestPodsInQueue(t *testing.T) {
	conf := func(pairs ...string) func(*sparkv1.SparkApplication) {
		return func(app *sparkv1.SparkApplication) {
			for i := 0; i < len(pairs); i += 2 {
				app.Spec.SparkConf[pairs[i]] = pairs[i+1]
			}
		}
	}
	reserves := func(app *sparkv1.SparkApplication) {
		app.Annotations = map[string]string{lifecycle.ReserveAnnotation: "true"}
	}

	const dynamic, maximum = "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.maxExecutors"
	for name, c := range map[string]struct {
		change    []func(*sparkv1.SparkApplication)
		executors int32
		wrong     string
	}{
		"Spark's default":          {nil, 2, ""},
		"a number of executors":    {[]func(*sparkv1.SparkApplication){conf("spark.executor.instances", "7")}, 7, ""},
		"no executors":             {[]func(*sparkv1.SparkApplication){conf("spark.executor.instances", "0")}, 0, "spec.sparkConf[spark.executor.instances]: "},
		"a local master":           {[]func(*sparkv1.SparkApplication){conf("spark.kubernetes.driver.master", "local[2]", dynamic, "true")}, 0, ""},
		"executors of a cluster":   {[]func(*sparkv1.SparkApplication){conf("spark.master", "spark://c:7077")}, 0, ""},
		"dynamic allocation":       {[]func(*sparkv1.SparkApplication){conf(dynamic, "true", maximum, "9")}, 0, "spec.sparkConf[" + dynamic + "]: "},
		"the largest number":       {[]func(*sparkv1.SparkApplication){conf(dynamic, "true", maximum, "9"), reserves}, 9, ""},
		"no largest number":        {[]func(*sparkv1.SparkApplication){conf(dynamic, "true"), reserves}, 0, "spec.sparkConf[" + maximum + "]: "},
		"an annotation in vain":    {[]func(*sparkv1.SparkApplication){conf("spark.executor.instances", "3"), reserves}, 3, ""},
		"submission by Spark":      {[]func(*sparkv1.SparkApplication){conf("spark.kubernetes.driver.podTemplateFile", "s3a://b/t.yaml")}, 0, "spec: "},
		"a value that cannot work": {[]func(*sparkv1.SparkApplication){conf("spark.executor.memory", "x")}, 0, "spec.sparkConf[spark.executor.memory]: "},
	} {
		app := pi(c.change...)
		if _, err := trim.Resource(app); err != nil { // as passes read it from the cache
			t.Fatal(err)
		}

		pods, err := trimmed.Pods(app, t0)
		if c.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.wrong) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}

		want := map[string]int32{"driver": 1}
		if c.executors > 0 {
			want["executor"] = c.executors
		}

		got := map[string]int32{}
		for _, p := range pods {
			got[p.Role] = p.Count
		}

		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
