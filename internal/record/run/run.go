// Package run describes runs of applications: records of finished runs, which outlive the custom resources, and the
// same facts about custom resources that still exist.
package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// Version is the version of records that this package writes. A reader ignores fields that it does not know.
const Version = 1

// MaxSize is the largest size of a record in JSON, in bytes.
const MaxSize = 32 << 10

// maxText bounds each text in a record, in bytes.
const maxText = 1 << 10

// maxLabels is the largest number of labels in a record.
const maxLabels = 32

// Record describes a run: the attempts from the first launch, an edit or a restart request until the permanent end.
type Record struct {
	Version    int       `json:"version"`
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	// Schedule is the name of the schedule that started the run; empty if none did.
	Schedule string            `json:"schedule,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`

	SpecHash string `json:"specHash,omitempty"`
	// Image is that of the last attempt's driver pod, or that of the spec if no status has it. ImageID is how the node
	// identified it; empty if no status has it.
	Image         string `json:"image,omitempty"`
	ImageID       string `json:"imageID,omitempty"`
	SparkVersion  string `json:"sparkVersion,omitempty"`
	ApplicationID string `json:"applicationID,omitempty"` // Spark's, of the last attempt

	Created time.Time `json:"created"`           // of the custom resource
	Started time.Time `json:"started,omitzero"`  // when the first attempt was launched
	Ended   time.Time `json:"ended,omitzero"`    // zero while the run continues
	Attempt int32     `json:"attempt,omitempty"` // the number of the last attempt
	// Attempts is the number of attempts of the run. The history of a status has the last 20 changes of phase, so a run
	// with more of them has at least this number.
	Attempts int32 `json:"attempts,omitempty"`

	// Outcome is that of the last attempt, or Deleted; empty while the run continues.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`

	// ExecutorReason is why the executor of the last attempt failed that was created last; empty if none failed.
	ExecutorReason string `json:"executorReason,omitempty"`

	Usage         statusv1.UsageSums    `json:"usage,omitzero"`
	Driver        Pods                  `json:"driver,omitzero"`
	Executors     Pods                  `json:"executors,omitzero"`
	PeakExecutors int32                 `json:"peakExecutors,omitempty"` // of the last attempt
	Pending       statusv1.UsagePending `json:"pending,omitzero"`        // of all attempts of the run
	Links         Links                 `json:"links,omitzero"`
}

// Pods describes the largest pod of the last attempt, and what pods used according to samples of the metrics API.
type Pods struct {
	Requested statusv1.UsageRate    `json:"requested,omitzero"`
	Sampled   statusv1.UsageSamples `json:"sampled,omitzero"`
}

// Links say where to read more about the last attempt.
type Links struct {
	Logs    string `json:"logs,omitempty"`
	History string `json:"history,omitempty"`
}

// scheduleOf returns the name of the schedule in a custom resource's label. A tenant can write into it what is no name,
// and the key of such a record would not be one of the store's layout, whose old objects are deleted.
func scheduleOf(object client.Object) string {
	name := object.GetLabels()[v1beta2.ScheduledAppNameLabel]
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return name
}

// Of returns the record of the current or last run of a custom resource at the given time. It returns nil for kinds
// without usage and for a custom resource that the operator has not handled yet.
func Of(object client.Object, now time.Time) *Record {
	r := &Record{
		Version: Version, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Created: object.GetCreationTimestamp().UTC(),
		Schedule: scheduleOf(object), Labels: someLabels(object.GetLabels()),
	}
	r.APIVersion, r.Kind = kinds.Of(object).ToAPIVersionAndKind()

	o := r.describe(object)
	if o == nil {
		return nil
	}

	r.SpecHash, r.Attempt, r.Links.History = o.SpecHash, o.Attempt, o.HistoryServerURL
	r.addAttempts(o)

	if s := o.Start; s != nil && s.Attempt == o.Attempt {
		r.Image, r.ImageID = cmp.Or(s.DriverImage, r.Image), s.DriverImageID
	}

	if o.EndedAt != nil {
		r.Ended = o.EndedAt.UTC()
	}

	if phase := lifecycle.Phase(o.Phase); phase.Terminal() {
		r.Outcome = o.Outcome
	} else {
		r.Ended = time.Time{}
	}

	if o.Cause != nil {
		r.Reason, r.Message = o.Cause.Reason, o.Cause.Message
	}

	for _, text := range []*string{&r.Image, &r.ImageID, &r.Message, &r.ApplicationID} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxText)], "")
	}

	if o.ExecutorFailure != nil {
		r.ExecutorReason = o.ExecutorFailure.Reason
	}

	if o.Usage != nil {
		r.Driver, r.Executors = Pods{o.Usage.Driver.Largest, o.Usage.Driver.Sampled}, Pods{o.Usage.Executors.Largest, o.Usage.Executors.Sampled}
		at := usage.At(o.Usage, now)
		r.Usage, r.PeakExecutors, r.Pending = usage.OfRun(at), at.PeakExecutors, at.Pending
	}
	return r
}

// Deleted is the outcome of a run whose custom resource was deleted before the permanent end.
const Deleted = "Deleted"

// OfDeleted returns the record of the run of a custom resource that was deleted, from its last state. It returns nil if
// the run had ended permanently before, and if nothing of it had run.
func OfDeleted(object client.Object, now time.Time) *Record {
	r := Of(object, now)
	if r == nil || r.Outcome != "" || r.Attempt == 0 && r.Usage == (statusv1.UsageSums{}) {
		return nil
	}

	r.Outcome, r.Ended = Deleted, now.UTC()
	if at := object.GetDeletionTimestamp(); at != nil {
		r.Ended = at.UTC()
	}

	if r.Started.IsZero() { // a SparkCluster has no attempts
		r.Started = r.Created
	}
	return r
}

// someLabels returns the first labels by their keys.
func someLabels(labels map[string]string) map[string]string {
	if len(labels) <= maxLabels {
		return labels
	}

	labels = maps.Clone(labels)
	for _, key := range slices.Sorted(maps.Keys(labels))[maxLabels:] {
		delete(labels, key)
	}
	return labels
}

// describe adds the facts for which the kinds have different fields. It returns the operator's part of the status; nil
// if there is none.
func (r *Record) describe(object client.Object) *statusv1.OperatorStatus {
	switch app := object.(type) {
	case *v1beta2.SparkApplication:
		r.SparkVersion, r.ApplicationID = app.Spec.SparkVersion, app.Status.SparkApplicationID
		r.Image = cmp.Or(deref(app.Spec.Driver.Image), deref(app.Spec.Image), imageOf(app.Spec.SparkConf))
		return app.Status.Operator
	case *v1alpha1.SparkConnect:
		r.SparkVersion, r.Image = app.Spec.SparkVersion, cmp.Or(deref(app.Spec.Image), imageOf(app.Spec.SparkConf))
		if o := app.Status.Operator; o != nil {
			return &o.OperatorStatus
		}
	case *sparkv1.SparkApplication:
		r.SparkVersion, r.Image = app.Spec.RuntimeVersions.SparkVersion, imageOf(app.Spec.SparkConf)
		if o := app.Status.Operator; o != nil {
			return &o.OperatorStatus
		}
	case *sparkv1.SparkCluster:
		r.SparkVersion, r.Image = app.Spec.RuntimeVersions.SparkVersion, imageOf(app.Spec.SparkConf)
		if o := app.Status.Operator; o != nil {
			return &statusv1.OperatorStatus{Phase: o.Phase, Usage: o.Usage}
		}
	}
	return nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func imageOf(conf map[string]string) string {
	return cmp.Or(conf["spark.kubernetes.driver.container.image"], conf["spark.kubernetes.container.image"])
}

// addAttempts adds the number of attempts and the start of the run, from the history of the status.
func (r *Record) addAttempts(o *statusv1.OperatorStatus) {
	if o.Attempt == 0 {
		return
	}

	first := o.Attempt
	if o.SubmittedAt != nil {
		r.Started = o.SubmittedAt.UTC()
	}

	for _, t := range slices.Backward(o.History) {
		phase := lifecycle.Phase(t.Phase)
		if phase.Terminal() && t.Attempt < first {
			break // the end of the run before
		}

		if phase == lifecycle.Launched && t.At != nil && t.Attempt > 0 && t.Attempt <= first {
			first, r.Started = t.Attempt, t.At.UTC()
		}
	}

	r.Attempts = o.Attempt - first + 1
}

// Duration returns how long the run took from its first launch, or until now.
func (r *Record) Duration(now time.Time) time.Duration {
	switch {
	case r.Started.IsZero():
		return 0
	case !r.Ended.IsZero():
		now = r.Ended
	}
	return max(now.Sub(r.Started), 0)
}

// Group returns the name under which a run is compared with others: that of its schedule, or its own.
func (r *Record) Group() string { return cmp.Or(r.Schedule, r.Name) }

// ID identifies a run among all runs of a namespace.
func (r *Record) ID() string { return fmt.Sprintf("%s-%d", r.UID, r.Attempt) }

// Encode returns the record as JSON.
func (r *Record) Encode() ([]byte, error) { return json.Marshal(r) }

// Decode reads a record. It returns an error if the text is none, or of another namespace or group. An empty group
// stands for all.
func Decode(text []byte, namespace, group string) (*Record, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, and a record has at most %d", len(text), MaxSize)
	}

	var r Record
	if err := utiljson.Unmarshal(text, &r); err != nil {
		return nil, err
	}

	if r.Version < 1 || r.Namespace != namespace || group != "" && r.Group() != group {
		return nil, errors.New("it is no record of this namespace and name")
	}

	r.Usage = usage.Plus(r.Usage, statusv1.UsageSums{})
	return &r, nil
}

// Merge returns runs without those that occur twice, the last started first. Of two equal runs, it keeps the first one.
func Merge(runs []*Record) []*Record {
	known := map[string]bool{}

	runs = slices.DeleteFunc(slices.Clone(runs), func(r *Record) bool {
		twice := known[r.ID()]
		known[r.ID()] = true
		return twice
	})
	slices.SortStableFunc(runs, func(a, b *Record) int {
		return cmp.Or(b.order().Compare(a.order()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return runs
}

func (r *Record) order() time.Time {
	if r.Started.IsZero() {
		return r.Created
	}
	return r.Started
}

// endFormat is the format of the end of a run in the key of its record. Keys sort by it.
const endFormat = "20060102T150405Z"

// StoreKey returns the key of the record in an object store.
func (r *Record) StoreKey() string {
	return store.RunKey(r.Namespace, r.Group(), r.Ended.UTC().Format(endFormat), types.UID(r.ID()))
}

// Key returns the last part of StoreKey: the end of the run, and what identifies the run.
func (r *Record) Key() string { return path.Base(r.StoreKey()) }

// EndOf returns the end of the run from the key of its record, and whether it is the key of a record.
func EndOf(key string) (ended time.Time, known bool) {
	name := path.Base(key)
	text, _, found := strings.Cut(name, "-")
	ended, err := time.Parse(endFormat, text)
	return ended, found && err == nil && strings.HasSuffix(name, ".json")
}

// GroupLabel is a label of the ConfigMaps with records. Its value is the beginning of the name of the schedule or of
// the application.
const GroupLabel = "sparkoperator.dev/runs-of"

// Keys returns the keys of the records in a ConfigMap, in the order of the ends of the runs.
func Keys(data map[string]string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if _, known := EndOf(key); known {
			keys = append(keys, key)
		}
	}
	return keys
}
