package kueue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Request is what a custom resource needs before a launch.
//
// +kubebuilder:object:generate=false
type Request struct {
	Name  string           // of the Workload
	Owner client.Object    // the custom resource
	Kind  schema.GroupKind // of the custom resource
	// Attempt is the attempt that needs the quota.
	Attempt int32
	Queue   string           // name of the LocalQueue; empty if the custom resource is in no queue
	Hash    string           // of the pod sets
	Class   PriorityClassRef // the priority class that the custom resource names; empty if it names none
}

// Step is what the operator does about a Workload.
type Step string

// These are the steps.
const (
	Create   Step = "create"    // there is none yet
	Update   Step = "update"    // change it in place, so that it keeps its place in the queue
	Replace  Step = "replace"   // delete it; another pass creates it again
	GiveBack Step = "give back" // clear the reservation
	Wait     Step = "wait"
	Launch   Step = "launch"  // the pods may be created
	Discard  Step = "discard" // delete it, and launch without quota
)

// Verdict is the judgement of a Workload.
//
// +kubebuilder:object:generate=false
type Verdict struct {
	Step Step
	// Wait says why no pod may be created; empty with Launch and Discard.
	Wait lifecycle.Cause
	// Unwatched is true if no event reports the end of the wait.
	Unwatched bool
}

// facts are what a row of the table reads.
//
// +kubebuilder:object:generate=false
type facts struct {
	*Workload
	Request

	now                                          time.Time
	admitted, reserved, evicted, finished, stale bool
}

func (f *facts) inactive() bool { return !f.active() }

func (f *facts) owned() bool { return metav1.IsControlledBy(f.Workload, f.Owner) }

// orphaned reports whether the Workload belongs to a deleted custom resource with the same kind and name. If its pods
// still stop (Queue.Hold), the garbage collector may have removed the reference to the custom resource.
func (f *facts) orphaned() bool {
	return identity.Orphan(f.Workload, f.Owner, f.Kind) || f.held() && !identity.Unlabelled(f.Workload) && metav1.GetControllerOfNoCopy(f.Workload) == nil
}

// held reports whether a pod owns the Workload too.
func (f *facts) held() bool { return slices.ContainsFunc(f.OwnerReferences, isPod) }

// verdicts is the table of all states of a Workload, in the order of their precedence. The last row always applies.
var verdicts = []struct {
	name    string
	applies func(f *facts) bool
	step    Step
	reason  string
	message func(f *facts) string
}{
	{"foreign", func(f *facts) bool { return !f.owned() && !f.orphaned() && f.Queue != "" }, Wait, lifecycle.ReasonQuotaRequestFailed, func(f *facts) string {
		return fmt.Sprintf("Workload %q does not belong to this resource (%s), so no quota can be requested; delete it, or give this resource another name",
			f.Workload.Name, identity.DescribeOwner(f.Workload))
	}},
	{"foreign, no queue", func(f *facts) bool { return !f.owned() && f.Queue == "" }, Launch, "", nil},
	{"no queue", func(f *facts) bool {
		return f.Queue == "" && (!f.admitted || f.evicted || f.stale || f.finished || f.inactive())
	}, Discard, "", nil},
	{"being deleted", func(f *facts) bool { return f.DeletionTimestamp != nil }, Wait, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s is being deleted; a new one is created when it is gone%s", f.Workload.Name, finalizers(f))
	}},
	{"orphan of pods that stop", func(f *facts) bool { return !f.owned() && f.held() }, Wait, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s belongs to a deleted resource of the same name, whose pods still stop", f.Workload.Name)
	}},
	{"orphan", func(f *facts) bool { return !f.owned() }, Replace, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s belongs to a deleted resource of the same name; the operator deletes it", f.Workload.Name)
	}},
	{"finished", func(f *facts) bool { return f.finished }, Replace, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s is finished; the operator creates a new one", f.Workload.Name)
	}},
	{"evicted", func(f *facts) bool { return f.reserved && f.evicted }, GiveBack, lifecycle.ReasonQuotaPending, evictedMessage},
	{"inactive", (*facts).inactive, Wait, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s is deactivated%s; it is queued again when its spec.active is true", f.Workload.Name, because(f, Evicted))
	}},
	{"other pods, reserved", func(f *facts) bool { return f.reserved && f.stale }, Replace, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s has quota for other pods than those of the present spec; the operator creates a new one", f.Workload.Name)
	}},
	{"admitted", func(f *facts) bool { return f.admitted && f.reserved }, Launch, "", nil},
	{"reserved", func(f *facts) bool { return f.reserved }, Wait, lifecycle.ReasonQuotaPending, func(f *facts) string {
		return fmt.Sprintf("Workload %s has quota in ClusterQueue %s, and waits for admission checks%s", f.Workload.Name, f.clusterQueue(), checks(f))
	}},
	{"changed", (*facts).changed, Update, lifecycle.ReasonQuotaPending, pendingMessage},
	{"back-off", func(f *facts) bool { return f.evicted && f.requeueAt().After(f.now) }, Wait, lifecycle.ReasonQuotaPending, evictedMessage},
	{"pending", func(*facts) bool { return true }, Wait, lifecycle.ReasonQuotaPending, pendingMessage},
}

// Judge returns what a Workload means for a launch. The Workload is nil if it does not exist.
func Judge(w *Workload, want Request, now time.Time) Verdict {
	if w == nil {
		if want.Queue == "" {
			return Verdict{Step: Launch}
		}
		return Verdict{Step: Create, Wait: lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: waits(want.Name, want.Queue, "")}}
	}

	f := &facts{Workload: w, Request: want, now: now,
		admitted: w.is(Admitted), reserved: w.is(QuotaReserved), evicted: w.is(Evicted), finished: w.is(Finished), stale: w.Annotations[HashAnnotation] != want.Hash}
	for _, row := range verdicts {
		if !row.applies(f) {
			continue
		}

		verdict := Verdict{Step: row.step, Unwatched: !f.owned()}
		if row.message != nil {
			verdict.Wait = lifecycle.Cause{Reason: row.reason, Message: row.message(f)}
		}
		return verdict
	}
	return Verdict{}
}

// See returns what an owner's Workload means for its pods. A Workload that is not active counts as evicted.
func See(w *Workload) lifecycle.Quota {
	seen := lifecycle.Quota{Name: w.Name, Attempt: w.attempt(), Requested: true, Reserved: w.is(QuotaReserved), Started: w.is(PodsReady), Finished: w.is(Finished)}

	condition := meta.FindStatusCondition(w.Status.Conditions, Evicted)
	switch evicted := w.is(Evicted); {
	case seen.Finished:
	case evicted && (seen.Reserved || !w.active()):
		seen.Evicted = &lifecycle.Cause{Reason: condition.Reason, Message: condition.Message}
	case !w.active():
		seen.Evicted = &lifecycle.Cause{Reason: deactivated, Message: "the Workload is deactivated"}
	}
	return seen
}

// differs reports whether two versions of a Workload may lead to different decisions, or to other wait reasons.
func differs(before, after *Workload) bool {
	return (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		before.active() != after.active() ||
		slices.ContainsFunc([]string{Admitted, QuotaReserved, Evicted, Finished}, func(kind string) bool { return before.is(kind) != after.is(kind) }) ||
		!after.is(Admitted) && before.wait() != after.wait()
}

// wait returns what Kueue reports about a Workload that is not admitted.
func (w *Workload) wait() string {
	f := &facts{Workload: w}
	return because(f, QuotaReserved) + because(f, Evicted) + w.requeueAt().String() + checks(f)
}

func (w *Workload) active() bool { return w.Spec.Active == nil || *w.Spec.Active }

func (w *Workload) is(condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

// attempt returns the number of the attempt that the Workload was requested for, or 0 if it has no such number.
func (w *Workload) attempt() int32 {
	n, err := strconv.ParseInt(w.Annotations[AttemptAnnotation], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func (w *Workload) annotate(attempt int32, hash string) {
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}

	w.Annotations[AttemptAnnotation], w.Annotations[HashAnnotation] = strconv.Itoa(int(attempt)), hash
}

func (w *Workload) clusterQueue() string {
	if w.Status.Admission == nil {
		return ""
	}
	return w.Status.Admission.ClusterQueue
}

func (w *Workload) requeueAt() time.Time {
	if w.Status.RequeueState == nil || w.Status.RequeueState.RequeueAt == nil {
		return time.Time{}
	}
	return w.Status.RequeueState.RequeueAt.Time
}

// changed reports whether the Workload asks for something else than the custom resource does now. A priority that does
// not come from a class that the custom resource names is left alone.
func (f *facts) changed() bool {
	ref := f.Spec.PriorityClassRef
	return f.stale || f.attempt() != f.Attempt || f.Spec.QueueName != f.Queue || f.Labels[identity.AppUIDLabel] != string(f.Owner.GetUID()) || f.Labels[QueueLabel] != f.Queue ||
		f.Class.Name != "" && (ref == nil || *ref != f.Class)
}

func waits(workload, queue, why string) string {
	message := fmt.Sprintf("Workload %s waits for quota in LocalQueue %s", workload, queue)
	if why != "" {
		message += ": " + why
	}
	return message
}

func pendingMessage(f *facts) string {
	why := ""
	if c := meta.FindStatusCondition(f.Status.Conditions, QuotaReserved); c != nil {
		why = c.Message
	}
	return waits(f.Workload.Name, f.Queue, why)
}

func evictedMessage(f *facts) string {
	message := fmt.Sprintf("Workload %s was evicted%s", f.Workload.Name, because(f, Evicted))
	if f.inactive() {
		return message + " and deactivated; it is queued again when its spec.active is true"
	}

	if at := f.requeueAt(); at.After(f.now) {
		return message + "; it is queued again at " + at.UTC().Format(time.RFC3339)
	}
	return message + "; it is queued again"
}

// because returns the reason and the message of a condition.
func because(f *facts, condition string) string {
	c := meta.FindStatusCondition(f.Status.Conditions, condition)
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.TrimSuffix(c.Reason+": "+c.Message, ": "))
}

func checks(f *facts) string {
	var open []string
	for _, check := range f.Status.AdmissionChecks {
		if check.State != "Ready" {
			open = append(open, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", check.Name, check.State, check.Message), ": "))
		}
	}

	if len(open) == 0 {
		return ""
	}
	return ": " + strings.Join(open, "; ")
}

func finalizers(f *facts) string {
	if len(f.Finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf(" (it has the finalizers %s)", strings.Join(f.Finalizers, ", "))
}
