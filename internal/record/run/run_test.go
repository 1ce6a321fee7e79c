package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns a time in minutes after noon.
func at(minute int) *metav1.MicroTime {
	return &metav1.MicroTime{Time: noon.Add(time.Duration(minute) * time.Minute)}
}

// history returns transitions, each as "phase attempt minute".
func history(texts ...string) (all []statusv1.OperatorTransition) {
	for _, text := range texts {
		var (
			t      statusv1.OperatorTransition
			minute int
		)
		_, _ = fmt.Sscan(text, &t.Phase, &t.Attempt, &minute)
		t.At = at(minute)
		all = append(all, t)
	}
	return all
}

// TestAttemptsOfRun checks which attempts belong to the last run, and when the run started and ended.
func TestAttemptsOfRun(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		status          statusv1.OperatorStatus
		attempts        int32
		started, ended  int
		outcome, reason string
	}{
		"one attempt": {statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Succeeded", SubmittedAt: at(1), EndedAt: at(9), History: history("Launched 1 1", "Done 1 9")}, 1, 1, 9, "Succeeded", ""},
		"retries": {statusv1.OperatorStatus{Phase: "Retained", Attempt: 3, Outcome: "Failed", Cause: &statusv1.OperatorCause{Reason: "OOMKilled"}, SubmittedAt: at(5), EndedAt: at(9),
			History: history("Launched 1 1", "Ended 1 2", "Launched 2 3", "Ended 2 4", "Launched 3 5", "Retained 3 9")}, 3, 1, 9, "Failed", "OOMKilled"},
		"run after an edit": {statusv1.OperatorStatus{Phase: "Done", Attempt: 2, Outcome: "Succeeded", SubmittedAt: at(5), EndedAt: at(9),
			History: history("Launched 1 1", "Done 1 2", "Editing 1 4", "Launched 2 5", "Done 2 9")}, 1, 5, 9, "Succeeded", ""},
		"waits for a retry": {statusv1.OperatorStatus{Phase: "Waiting", Attempt: 1, Outcome: "Failed", SubmittedAt: at(1), EndedAt: at(2), History: history("Launched 1 1", "Waiting 1 2")}, 1, 1, -1, "", ""},
		"a history that is cut": {statusv1.OperatorStatus{Phase: "Done", Attempt: 30, Outcome: "Failed", SubmittedAt: at(60), EndedAt: at(61),
			History: history("Launched 29 58", "Ended 29 59", "Launched 30 60", "Done 30 61")}, 2, 58, 61, "Failed", ""},
		"written by a user": {statusv1.OperatorStatus{Phase: "Done", Attempt: -5, Outcome: "Failed", EndedAt: at(1), History: history("Launched 7 1", "Done -9 1")}, 0, 0, 1, "Failed", ""},
	} {
		app := &v1beta2.SparkApplication{}
		app.Status.Operator = &test.status

		r := Of(app, noon.Add(time.Hour))
		if r.Attempts < 0 || test.attempts > 0 && (r.Attempts != test.attempts || !r.Started.Equal(at(test.started).Time)) {
			t.Errorf("%s: %d attempts since %s, want %d since %s", name, r.Attempts, r.Started, test.attempts, at(test.started))
		}

		if ended := test.ended >= 0; r.Ended.IsZero() == ended || ended && !r.Ended.Equal(at(test.ended).Time) || r.Outcome != test.outcome || r.Reason != test.reason {
			t.Errorf("%s: it ended at %s with %q, %q", name, r.Ended, r.Outcome, r.Reason)
		}
	}
}

// TestKeysOfOddLabels checks that the sweep deletes the record of an application whose label names no schedule.
func TestKeysOfOddLabels(t *testing.T) {
	t.Parallel()

	for label, group := range map[string]string{"nightly.v2": "nightly.v2", "": "pi", "My_Schedule": "pi", "UPPER": "pi"} {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10",
			Labels: map[string]string{v1beta2.ScheduledAppNameLabel: label}}}
		app.Status.Operator = &statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Succeeded", SubmittedAt: at(1), EndedAt: at(9)}

		if r := Of(app, noon.Add(time.Hour)); r.Group() != group || !store.IsOwn(r.StoreKey()) {
			t.Errorf("label %q: group %q, key %s", label, r.Group(), r.StoreKey())
		}
	}
}

// TestImagesOfKinds checks where the image and the version come from in each kind.
func TestImagesOfKinds(t *testing.T) {
	t.Parallel()

	const image = "spark.kubernetes.container.image"

	app := &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{Image: new("i"), SparkVersion: "4.1.4"}, Status: v1beta2.SparkApplicationStatus{Operator: &statusv1.OperatorStatus{}}}
	connect := &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkConf: map[string]string{image: "i"}, SparkVersion: "4.1.4"}, Status: v1alpha1.SparkConnectStatus{Operator: &v1alpha1.OperatorStatus{}}}
	apache := &sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{SparkConf: map[string]string{image: "i"}}, Status: sparkv1.ApplicationStatus{Operator: &sparkv1.OperatorStatus{}}}
	apache.Spec.RuntimeVersions.SparkVersion = "4.1.4"

	for _, r := range []*Record{Of(app, noon), Of(connect, noon), Of(apache, noon)} {
		if r.Image != "i" || r.SparkVersion != "4.1.4" || r.Kind == "" {
			t.Errorf("%+v", r)
		}
	}

	app.Status.Operator = &statusv1.OperatorStatus{Attempt: 2, Start: &statusv1.OperatorStart{Attempt: 2, DriverImage: "mirror/i", DriverImageID: "mirror/i@sha256:1"}}
	if r := Of(app, noon); r.Image != "mirror/i" || r.ImageID != "mirror/i@sha256:1" {
		t.Errorf("the image is %s (%s)", r.Image, r.ImageID)
	}

	app.Status.Operator.Attempt = 3 // the driver of the third attempt has no pod yet
	if r := Of(app, noon); r.Image != "i" || r.ImageID != "" {
		t.Errorf("the image is %s (%s)", r.Image, r.ImageID)
	}

	if r := Of(&sparkv1.SparkCluster{}, noon); r != nil {
		t.Errorf("a cluster has the run %+v", r)
	}

	if r := Of(&v1beta2.SparkApplication{}, noon); r != nil {
		t.Errorf("an application without a status has the run %+v", r)
	}
}

// TestRecordIsStored checks that a record does not change when it is written and read, that it is within its bound
// whatever the texts in the custom resource are, and that other texts are refused.
func TestRecordIsStored(t *testing.T) {
	t.Parallel()

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n", UID: "u", CreationTimestamp: metav1.Time{Time: noon}, Labels: map[string]string{}}}
	app.Spec.Image, app.Spec.SparkVersion = new(strings.Repeat("ü", 1<<20)), "4.1.4"

	for i := range 5000 {
		app.Labels[fmt.Sprint("l", i)] = strings.Repeat("x", 63)
	}

	app.Status.Operator = &statusv1.OperatorStatus{
		Phase: "Done", Attempt: 1, Outcome: "Failed", SubmittedAt: at(1), EndedAt: at(2), Cause: &statusv1.OperatorCause{Reason: "R", Message: strings.Repeat("m", 1<<20)},
	}

	want := Of(app, noon)

	text, err := want.Encode()
	if err != nil || len(text) > MaxSize {
		t.Fatalf("%d bytes, %v", len(text), err)
	}

	got, err := Decode(text, "ns", "n")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if ended, known := EndOf(want.StoreKey()); !known || !ended.Equal(want.Ended) {
		t.Errorf("the key %s has the end %s", want.StoreKey(), ended)
	}

	negative, _ := json.Marshal(Record{Version: 1, Namespace: "ns", Name: "n", Usage: statusv1.UsageSums{CostNanos: -1}})
	if r, err := Decode(negative, "ns", "n"); err != nil || r.Usage.CostNanos != 0 {
		t.Errorf("a negative cost: %+v, %v", r, err)
	}

	for _, wrong := range []struct{ text, namespace, group string }{{"{", "ns", "n"}, {"{}", "ns", ""}, {string(text), "other", "n"}, {string(text), "ns", "other"}, {strings.Repeat(" ", MaxSize+1), "ns", "n"}} {
		if r, err := Decode([]byte(wrong.text), wrong.namespace, wrong.group); err == nil {
			t.Errorf("%.20s of %s/%s is read as %+v", wrong.text, wrong.namespace, wrong.group, r)
		}
	}
}

// TestDeletedRuns checks the records of custom resources that are deleted. A run that had ended has another record, and
// one of which nothing ran has none.
func TestDeletedRuns(t *testing.T) {
	t.Parallel()

	hour := metav1.Time{Time: noon.Add(time.Hour)}
	meta := metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10", CreationTimestamp: metav1.Time{Time: noon}}
	core := statusv1.UsageRate{CPUMillicores: 1000}
	uses := &statusv1.OperatorUsage{Time: &metav1.Time{Time: at(10).Time}, Executors: statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 7000}, Requested: core}}

	deleted := meta
	deleted.DeletionTimestamp = &metav1.Time{Time: at(50).Time}

	app := func(meta metav1.ObjectMeta, o statusv1.OperatorStatus) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{ObjectMeta: meta, Status: v1beta2.SparkApplicationStatus{Operator: &o}}
	}
	cluster := &sparkv1.SparkCluster{ObjectMeta: meta, Status: sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Phase: "Running", Usage: uses}}}

	for name, test := range map[string]struct {
		object         client.Object
		started, ended int // minutes; 0: no record
		cores          int64
	}{
		"while it runs": {app(meta, statusv1.OperatorStatus{Phase: "Running", Attempt: 2, SubmittedAt: at(5), EndedAt: at(3), Usage: uses}), 5, 60, 7000 + 50*60*1000},
		"with a time":   {app(deleted, statusv1.OperatorStatus{Phase: "Suspended", Attempt: 1, SubmittedAt: at(5)}), 5, 50, 0},
		"after its end": {app(meta, statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Failed", EndedAt: at(9)}), 0, 0, 0},
		"in the queue":  {app(meta, statusv1.OperatorStatus{Phase: "New"}), 0, 0, 0},
		"a cluster":     {cluster, 0, 60, 7000 + 50*60*1000},
	} {
		r := OfDeleted(test.object, hour.Time)
		if test.ended == 0 {
			if r != nil {
				t.Errorf("%s: the record is %+v", name, r)
			}
			continue
		}

		if r == nil || r.Outcome != Deleted || !r.Started.Equal(at(test.started).Time) || !r.Ended.Equal(at(test.ended).Time) || r.Usage.CPUMillicoreSeconds != test.cores || !store.IsOwn(r.StoreKey()) {
			t.Errorf("%s: the record is %+v", name, r)
		}
	}
}
