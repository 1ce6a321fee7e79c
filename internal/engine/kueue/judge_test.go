package kueue

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	kind = schema.GroupVersionKind{Group: "spark.apache.org", Version: "v1", Kind: "SparkApplication"}
)

// owner is the custom resource of the tests.
func owner() client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "pi", UID: "uid", Labels: map[string]string{QueueLabel: "research", "team": "a"},
	}}
}

// workload returns a pending Workload of the custom resource, with changes.
func workload(change ...func(*Workload)) *Workload {
	w := &Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "sparkapplication-pi", UID: "workload", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner(), kind)},
		Labels: map[string]string{QueueLabel: "research", "team": "a", identity.AppUIDLabel: "uid"},
	}, Spec: WorkloadSpec{QueueName: "research", Active: new(true)}}
	w.annotate(1, "hash")

	for _, c := range change {
		c(w)
	}
	return w
}

func with(condition string, status bool, reason, message string) func(*Workload) {
	return func(w *Workload) { w.set(condition, status, reason, message, noon) }
}

func reserved(w *Workload) {
	w.set(QuotaReserved, true, "QuotaReserved", "", noon)
	w.Status.Admission = &Admission{ClusterQueue: "shared"}
}

func admitted(w *Workload) { reserved(w); w.set(Admitted, true, "Admitted", "", noon) }

func evicted(reason string) func(*Workload) {
	return func(w *Workload) {
		admitted(w)
		w.set(Evicted, true, reason, "why", noon)
	}
}

func inactive(w *Workload) { w.Spec.Active = new(false) }

func ownedBy(name string) func(*Workload) {
	return func(w *Workload) {
		w.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: "other"}, kind)}
	}
}

func heldBy(pod string) func(*Workload) {
	return func(w *Workload) {
		w.OwnerReferences = append(w.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: "pod"})
	}
}

func backOff(w *Workload) {
	w.Status.RequeueState = &RequeueState{Count: new(int32(2)), RequeueAt: new(metav1.NewTime(noon.Add(time.Minute)))}
}

// TestJudge has each row of the table, and the states of a Workload that the operator of spark.apache.org knows.
func TestJudge(t *testing.T) {
	noQueue := func(r *Request) { r.Queue = "" }
	other := func(r *Request) { r.Hash = "other" }

	for _, test := range []struct {
		name string
		w    *Workload
		want func(*Request)
		step Step
		// reason and message are of the wait; the message is a part of it.
		reason, message string
	}{
		{"no Workload", nil, nil, Create, lifecycle.ReasonQuotaPending, "sparkapplication-pi waits for quota in LocalQueue research"},
		{"no Workload, no queue", nil, noQueue, Launch, "", ""},
		{"pending", workload(), nil, Wait, lifecycle.ReasonQuotaPending, "waits for quota in LocalQueue research"},
		{"pending with Kueue's reason", workload(with(QuotaReserved, false, "WaitingForQuota", "insufficient quota for cpu")), nil, Wait, lifecycle.ReasonQuotaPending, "research: insufficient quota for cpu"},
		{"queue does not exist", workload(with(QuotaReserved, false, "Inadmissible", "LocalQueue research doesn't exist")), nil, Wait, lifecycle.ReasonQuotaPending, "LocalQueue research doesn't exist"},
		{"admitted", workload(admitted), nil, Launch, "", ""},
		{"admitted without a reservation", workload(with(Admitted, true, "Admitted", "")), nil, Wait, lifecycle.ReasonQuotaPending, "waits for quota"},
		{"reserved, checks pending", workload(reserved, func(w *Workload) {
			w.Status.AdmissionChecks = []AdmissionCheckState{{Name: "prov", State: "Pending", Message: "no nodes yet"}, {Name: "other", State: "Ready"}}
		}), nil, Wait, lifecycle.ReasonQuotaPending, "ClusterQueue shared, and waits for admission checks: prov is Pending: no nodes yet"},
		{"being deleted", workload(func(w *Workload) {
			w.DeletionTimestamp, w.Finalizers = new(metav1.NewTime(noon)), []string{"kueue.x-k8s.io/resource-in-use"}
		}), nil,
			Wait, lifecycle.ReasonQuotaPending, "is being deleted; a new one is created when it is gone (it has the finalizers kueue.x-k8s.io/resource-in-use)"},
		{"admitted and being deleted", workload(admitted, func(w *Workload) { w.DeletionTimestamp = new(metav1.NewTime(noon)) }), nil, Wait, lifecycle.ReasonQuotaPending, "is being deleted"},
		{"of a deleted resource", workload(ownedBy("pi")), nil, Replace, lifecycle.ReasonQuotaPending, "belongs to a deleted resource of the same name"},
		{"of a deleted resource, whose driver stops", workload(admitted, ownedBy("pi"), heldBy("driver")), nil, Wait, lifecycle.ReasonQuotaPending, "whose pods still stop"},
		{"of a driver that stops", workload(admitted, func(w *Workload) { w.OwnerReferences = nil }, heldBy("driver")), nil, Wait, lifecycle.ReasonQuotaPending, "whose pods still stop"},
		{"of somebody's pod", workload(admitted, func(w *Workload) { w.OwnerReferences, w.Labels = nil, nil }, heldBy("driver")), nil, Wait, lifecycle.ReasonQuotaRequestFailed, "does not belong to this resource"},
		{"of somebody else", workload(admitted, ownedBy("other")), nil, Wait, lifecycle.ReasonQuotaRequestFailed, `does not belong to this resource (it is owned by SparkApplication "other")`},
		{"of nobody", workload(admitted, func(w *Workload) { w.OwnerReferences = nil }), nil, Wait, lifecycle.ReasonQuotaRequestFailed, "it has no owner"},
		{"of somebody else, no queue", workload(ownedBy("other")), noQueue, Launch, "", ""},
		{"deactivated while pending", workload(inactive), nil, Wait, lifecycle.ReasonQuotaPending, "is deactivated"},
		{"deactivated, other pods", workload(inactive), other, Wait, lifecycle.ReasonQuotaPending, "is deactivated"},
		{"deactivated, with quota", workload(evicted("Deactivated"), inactive), nil, GiveBack, lifecycle.ReasonQuotaPending, "was evicted (Deactivated: why) and deactivated"},
		{"deactivated, quota given back", workload(inactive, with(Evicted, true, "Deactivated", "by its user")), nil, Wait, lifecycle.ReasonQuotaPending, "is deactivated (Deactivated: by its user)"},
		{"deactivated while pending, active again", workload(with(Evicted, true, "Deactivated", "")), nil, Wait, lifecycle.ReasonQuotaPending, "waits for quota"},
		{"evicted with quota", workload(evicted("Preempted")), nil, GiveBack, lifecycle.ReasonQuotaPending, "was evicted (Preempted: why); it is queued again"},
		{"evicted with quota, back-off", workload(evicted("PodsReadyTimeout"), backOff), nil, GiveBack, lifecycle.ReasonQuotaPending, "queued again at 2026-01-02T12:01:00Z"},
		{"evicted with quota, other pods", workload(evicted("Preempted")), other, GiveBack, lifecycle.ReasonQuotaPending, "was evicted"},
		{"quota given back, back-off", workload(with(Evicted, true, "PodsReadyTimeout", "late"), backOff), nil, Wait, lifecycle.ReasonQuotaPending, "was evicted (PodsReadyTimeout: late); it is queued again at 2026-01-02T12:01:00Z"},
		{"quota given back, back-off over", workload(with(Evicted, true, "PodsReadyTimeout", "late"), backOff, func(w *Workload) { w.Status.RequeueState.RequeueAt.Time = noon }), nil, Wait, lifecycle.ReasonQuotaPending, "waits for quota"},
		{"finished", workload(admitted, with(Finished, true, "Succeeded", "")), nil, Replace, lifecycle.ReasonQuotaPending, "is finished"},
		{"other pods, pending", workload(), other, Update, lifecycle.ReasonQuotaPending, "waits for quota"},
		{"other pods, reserved", workload(reserved), other, Replace, lifecycle.ReasonQuotaPending, "has quota for other pods"},
		{"other pods, admitted", workload(admitted), other, Replace, lifecycle.ReasonQuotaPending, "has quota for other pods"},
		{"other queue, pending", workload(), func(r *Request) { r.Queue = "night" }, Update, lifecycle.ReasonQuotaPending, "LocalQueue night"},
		{"other queue, admitted", workload(admitted), func(r *Request) { r.Queue = "night" }, Launch, "", ""},
		{"other class, pending", workload(), func(r *Request) { r.Class = PriorityClassRef{"kueue.x-k8s.io", "WorkloadPriorityClass", "high"} }, Update, lifecycle.ReasonQuotaPending, ""},
		{"same class, pending", workload(func(w *Workload) {
			w.Spec.PriorityClassRef = &PriorityClassRef{"scheduling.k8s.io", "PriorityClass", "high"}
		}),
			func(r *Request) { r.Class = PriorityClassRef{"scheduling.k8s.io", "PriorityClass", "high"} }, Wait, lifecycle.ReasonQuotaPending, ""},
		{"default class, pending", workload(func(w *Workload) {
			w.Spec.PriorityClassRef = &PriorityClassRef{"scheduling.k8s.io", "PriorityClass", "default"}
		}), nil, Wait, lifecycle.ReasonQuotaPending, ""},
		{"other attempt, pending", workload(), func(r *Request) { r.Attempt = 2 }, Update, lifecycle.ReasonQuotaPending, ""},
		{"without our label, pending", workload(func(w *Workload) { delete(w.Labels, identity.AppUIDLabel) }), nil, Update, lifecycle.ReasonQuotaPending, ""},
		{"no queue, pending", workload(), noQueue, Discard, "", ""},
		{"no queue, reserved", workload(reserved), noQueue, Discard, "", ""},
		{"no queue, admitted", workload(admitted), noQueue, Launch, "", ""},
		{"no queue, admitted for other pods", workload(admitted), func(r *Request) { r.Queue, r.Hash = "", "other" }, Discard, "", ""},
		{"no queue, evicted", workload(evicted("Preempted")), noQueue, Discard, "", ""},
		{"no queue, deactivated", workload(admitted, inactive), noQueue, Discard, "", ""},
		{"no queue, finished", workload(admitted, with(Finished, true, "Failed", "")), noQueue, Discard, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := Request{Name: "sparkapplication-pi", Owner: owner(), Kind: kind.GroupKind(), Attempt: 1, Queue: "research", Hash: "hash"}
			if test.want != nil {
				test.want(&want)
			}

			got := Judge(test.w, want, noon)
			if got.Step != test.step || got.Wait.Reason != test.reason || !strings.Contains(got.Wait.Message, test.message) {
				t.Errorf("judged as %q, %s: %s; want %q, %s: ...%s...", got.Step, got.Wait.Reason, got.Wait.Message, test.step, test.reason, test.message)
			}
		})
	}
}

// TestDiffers checks which changes of a Workload start a pass.
func TestDiffers(t *testing.T) {
	pending := with(QuotaReserved, false, "Pending", "insufficient quota for cpu")
	check := func(state string) func(*Workload) {
		return func(w *Workload) { w.Status.AdmissionChecks = []AdmissionCheckState{{Name: "prov", State: state}} }
	}

	for _, test := range []struct {
		name          string
		before, after *Workload
		differs       bool
	}{
		{"nothing", workload(pending), workload(pending), false},
		{"a label", workload(pending), workload(pending, func(w *Workload) { w.Labels["x"] = "y" }), false},
		{"admitted", workload(pending), workload(admitted), true},
		{"evicted", workload(admitted), workload(evicted("Preempted")), true},
		{"deactivated", workload(pending), workload(pending, inactive), true},
		{"ready", workload(admitted), workload(admitted, with(PodsReady, true, "Started", "")), false},
		{"another reason for the wait", workload(pending), workload(with(QuotaReserved, false, "Pending", "insufficient quota for memory")), true},
		{"a back-off", workload(pending), workload(pending, backOff), true},
		{"a check", workload(reserved, check("Pending")), workload(reserved, check("Retry")), true},
		{"a check of an admitted Workload", workload(admitted, check("Ready")), workload(admitted, check("Pending")), false},
		{"the reason of an earlier wait", workload(admitted), workload(admitted, with(QuotaReserved, true, "QuotaReserved", "in ClusterQueue shared")), false},
	} {
		if got := differs(test.before, test.after); got != test.differs {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// TestSee checks what a decision sees of a Workload.
func TestSee(t *testing.T) {
	for _, test := range []struct {
		name string
		w    *Workload
		want string
	}{
		{"pending", workload(), ""},
		{"admitted", workload(admitted), "reserved"},
		{"evicted", workload(evicted("Preempted")), "reserved Preempted: why"},
		{"quota given back", workload(evicted("Preempted"), func(w *Workload) { giveBack(w, noon) }), ""},
		{"deactivated with quota", workload(admitted, inactive), "reserved Deactivated: the Workload is deactivated"},
		{"deactivated, quota given back", workload(inactive, with(Evicted, true, "DeactivatedDueToX", "too often")), "DeactivatedDueToX: too often"},
		{"deactivated while pending, active again", workload(with(Evicted, true, "Deactivated", "")), ""},
		{"ready", workload(admitted, with(PodsReady, true, "Started", "")), "reserved started"},
		{"finished", workload(evicted("Preempted"), with(Finished, true, "Failed", "")), "reserved finished"},
	} {
		q := See(test.w)

		var words []string
		for _, fact := range []struct {
			is   bool
			word string
		}{{q.Reserved, "reserved"}, {q.Started, "started"}, {q.Finished, "finished"}} {
			if fact.is {
				words = append(words, fact.word)
			}
		}

		if q.Evicted != nil {
			words = append(words, q.Evicted.Reason+": "+q.Evicted.Message)
		}

		if got := strings.Join(words, " "); got != test.want || !q.Requested || q.Attempt != 1 {
			t.Errorf("%s: seen as %q, requested: %t, attempt %d; want %q", test.name, got, q.Requested, q.Attempt, test.want)
		}
	}
}

// TestGiveBack checks the conditions after a reservation is cleared, by the reason of the eviction.
func TestGiveBack(t *testing.T) {
	for reason, requeued := range map[string]bool{
		"Preempted": true, "NodeFailures": true, "PodsReadyTimeout": false, "AdmissionCheck": false, "ClusterQueueStopped": false, "LocalQueueStopped": false, "Deactivated": false,
		"DeactivatedDueToRequeuingLimitExceeded": false,
	} {
		w := workload(evicted(reason), backOff, with(PodsReady, true, "Started", ""))
		giveBack(w, noon)

		if w.Status.Admission != nil || w.is(QuotaReserved) || w.is(Admitted) || w.is(PodsReady) {
			t.Errorf("%s: quota is left: %+v", reason, w.Status)
		}

		if w.is(Requeued) != requeued || !w.is(Evicted) || w.Status.RequeueState == nil {
			t.Errorf("%s: requeued: %t, want %t; status %+v", reason, w.is(Requeued), requeued, w.Status)
		}
	}
}
