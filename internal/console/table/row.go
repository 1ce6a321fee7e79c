// Package table is the data of the console's table of all kinds: its rows, the queries that select and order them, and
// the window of rows that a page shows. All functions are pure. The types are the JSON of /api/v1 and the input of the
// components in package view.
//
// Texts that users control pass bounds.Line on their way into a row, so that control characters are visible wherever
// the row is shown. Package view escapes HTML.
package table

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/timeline"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// maxCause is the largest number of characters of a cause in a row.
const maxCause = 200

// maxRowLabels and maxLabel bound what a row keeps of an object's labels, in labels and in bytes of a label.
const (
	maxRowLabels = 16
	maxLabel     = 128
)

// ownerLabels are the labels that name the owner of an object, the preferred one first.
var ownerLabels = []string{"owner", "team", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"}

// Row is one object in the table of all kinds. It has about 1 kB.
type Row struct {
	// Kind is the resource with its group, as kubectl prints it, such as sparkapplications.sparkoperator.k8s.io.
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	// State is the state as the status of the kind names it; Result is its short form, which all kinds have.
	State  string      `json:"state"`
	Result kube.Result `json:"result"`
	// Cause says in one line why the object is not ready, or has what only its kind has, such as the times of a schedule.
	Cause string `json:"cause,omitempty"`
	// Reason is the cause as one word; empty if the object is ready.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	// Started and Ended belong to the current or last attempt. They are zero if it has not started or ended.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Next is when the next run of a schedule or the next attempt starts; zero if nothing is due.
	Next time.Time `json:"next,omitzero"`
	// ExecutorsRunning counts executors, or the workers of a cluster. ExecutorsWanted is the number in the spec. With
	// dynamic allocation it is the number that Spark has requested.
	ExecutorsRunning int32 `json:"executorsRunning,omitempty"`
	ExecutorsWanted  int32 `json:"executorsWanted,omitempty"`
	ExecutorsFailed  int32 `json:"executorsFailed,omitempty"`
	Attempts         int32 `json:"attempts,omitempty"`
	// CPUMillis and MemoryBytes are the requests of the pods that run, GPUs their GPUs.
	CPUMillis   int64 `json:"cpuMillis,omitempty"`
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	GPUs        int64 `json:"gpus,omitempty"`
	// CostNanos is the cost until CostTime in billionths of the currency; it then grows by CostRate each second.
	CostNanos int64     `json:"costNanos,omitempty"`
	CostRate  int64     `json:"costRate,omitempty"`
	CostTime  time.Time `json:"costTime,omitzero"`
	// Owner is the value of the first label of ownerLabels that the object has.
	Owner        string            `json:"owner,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Suspended    bool              `json:"suspended,omitempty"`
	SparkVersion string            `json:"sparkVersion,omitempty"`
	// ScheduledBy is the name of the schedule that started the object.
	ScheduledBy string `json:"scheduledBy,omitempty"`

	// earlier are the times before the current attempt in which the object ran or was pending, oldest first.
	earlier []period
}

// period is a time in which an object ran or was pending.
type period struct {
	from, to time.Time
	running  bool
}

// RowOf returns the row of an object of one of the five kinds. The row keeps nothing of the object alive.
func RowOf(object client.Object) Row {
	s := kube.Summarize(object)
	r := Row{
		Kind: s.Kind.FullName(), APIVersion: s.Kind.GroupVersion().String(), Namespace: clean(s.Namespace), Name: clean(s.Name), UID: object.GetUID(),
		State: clean(s.State), Result: s.Result, Reason: clean(s.Reason), Created: s.Created.UTC(), Started: s.Started.UTC(), Ended: s.Ended.UTC(), Next: s.Next.UTC(),
		Attempts: s.Attempt, Suspended: s.Result == kube.Suspended, ScheduledBy: clean(object.GetLabels()[v1beta2.ScheduledAppNameLabel]),
	}
	r.Cause = oneLine(cmp.Or(s.Message, s.Detail), maxCause)
	r.addLabels(object.GetLabels())
	r.addEarlier(&s)

	if e := s.Executors; e != nil {
		r.ExecutorsRunning, r.ExecutorsFailed = e.Running, e.Failed
	}

	r.addSpec(object, &s)

	if u := s.Usage; u != nil {
		total := s.Used(kube.TimeOf(u.Time))
		r.CostNanos, r.CostTime = total.CostNanos, kube.TimeOf(u.Time).UTC()

		if !s.Over() && s.Ended.IsZero() {
			r.CPUMillis = u.Driver.Requested.CPUMillicores + u.Executors.Requested.CPUMillicores
			r.MemoryBytes = (u.Driver.Requested.MemoryMiB + u.Executors.Requested.MemoryMiB) << 20
			r.GPUs = u.Driver.Requested.GPUs + u.Executors.Requested.GPUs
			r.CostRate = u.Driver.Requested.CostNanos + u.Executors.Requested.CostNanos
		}
	}
	return r
}

// addSpec adds the facts that each kind has in another place.
func (r *Row) addSpec(object client.Object, s *kube.Summary) {
	conf := map[string]string(nil)
	wanted := (*int32)(nil)
	dynamic := false

	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		conf, wanted, r.SparkVersion = object.Spec.SparkConf, object.Spec.Executor.Instances, object.Spec.SparkVersion
		dynamic = object.Spec.DynamicAllocation != nil && object.Spec.DynamicAllocation.Enabled
	case *v1alpha1.SparkConnect:
		conf, wanted, r.SparkVersion = object.Spec.SparkConf, object.Spec.Executor.Instances, object.Spec.SparkVersion
		dynamic = object.Spec.DynamicAllocation != nil && object.Spec.DynamicAllocation.Enabled
	case *v1beta2.ScheduledSparkApplication:
		r.SparkVersion = clean(object.Spec.Template.SparkVersion)
		return
	case *sparkv1.SparkApplication:
		conf, r.SparkVersion = object.Spec.SparkConf, object.Spec.RuntimeVersions.SparkVersion
	case *sparkv1.SparkCluster:
		r.SparkVersion = clean(object.Spec.RuntimeVersions.SparkVersion)
		r.ExecutorsWanted = int32(min(object.Spec.ClusterTolerations.InstanceConfig.InitWorkers, 1<<31-1))

		if w := object.Status.Workers; w != nil {
			r.ExecutorsRunning, r.ExecutorsWanted = w.Running, w.Desired
		}
		return
	}

	r.SparkVersion = clean(r.SparkVersion)

	if s.Over() || !s.Ended.IsZero() || s.Result == kube.Suspended {
		return
	}

	r.ExecutorsWanted = instances(wanted, conf)
	if dynamic || strings.EqualFold(conf["spark.dynamicAllocation.enabled"], "true") {
		r.ExecutorsWanted = 0
		if e := s.Executors; e != nil {
			r.ExecutorsWanted = e.Running + e.Pending
		}
	}
}

// instances returns the number of executors that a spec requests, 2 by default as in Spark.
func instances(wanted *int32, conf map[string]string) int32 {
	if n, err := strconv.ParseInt(strings.TrimSpace(conf["spark.executor.instances"]), 10, 32); err == nil && wanted == nil {
		return int32(n)
	}

	if wanted != nil {
		return *wanted
	}
	return 2
}

func (r *Row) addLabels(labels map[string]string) {
	for _, key := range ownerLabels {
		if r.Owner = cut(clean(labels[key]), maxLabel); r.Owner != "" {
			break
		}
	}

	r.Labels = make(map[string]string, min(len(labels), maxRowLabels))
	for _, key := range slices.Sorted(maps.Keys(labels)) { // the same labels for each event
		if value := labels[key]; len(r.Labels) < maxRowLabels && len(key)+len(value) <= maxLabel {
			r.Labels[strings.Clone(key)] = clean(value)
		}
	}
}

// addEarlier keeps what the history of the status has of earlier attempts. Started belongs to the current attempt.
func (r *Row) addEarlier(s *kube.Summary) {
	if s.Attempt < 2 || len(s.History) == 0 {
		return
	}

	until := r.Started
	if last := s.History[len(s.History)-1].At; until.IsZero() && last != nil {
		until = last.Time
	}

	for _, segment := range timeline.Until(s, until).Segments {
		p := period{segment.From, segment.To, true}

		switch segment.Activity {
		case timeline.Queued, timeline.Pending, timeline.Retrying:
			p.running = false
		case timeline.Paused, timeline.Succeeded, timeline.Failed:
			continue
		}

		if last := len(r.earlier) - 1; last >= 0 && r.earlier[last].running == p.running && r.earlier[last].to.Equal(p.from) {
			r.earlier[last].to = p.to
		} else {
			r.earlier = append(r.earlier, p)
		}
	}
}

// Duration returns how long the current or last attempt has run until the given time.
func (r *Row) Duration(now time.Time) time.Duration {
	switch {
	case r.Started.IsZero():
		return 0
	case !r.Ended.IsZero():
		now = r.Ended
	}
	return max(now.Sub(r.Started), 0)
}

// Cost returns the cost until the given time in billionths of the currency.
func (r *Row) Cost(now time.Time) int64 {
	if r.CostRate == 0 || !now.After(r.CostTime) {
		return r.CostNanos
	}
	return r.CostNanos + r.CostRate*int64(now.Sub(r.CostTime).Seconds())
}

// Short returns the short name of the row's kind, such as app.
func (r *Row) Short() string {
	for _, kind := range kinds.All {
		if kind.FullName() == r.Kind {
			return kind.Name
		}
	}
	return r.Kind
}

// Path returns the path of the object's page in the console.
func (r *Row) Path() string { return ObjectPath(r.Kind, r.Namespace, r.Name) }

// clean returns a copy of a text with visible control characters. The copy does not keep the object alive.
func clean(text string) string { return strings.Clone(bounds.Line(text)) }

// oneLine returns the first characters of a text as one line.
func oneLine(text string, most int) string {
	return cut(clean(strings.Join(strings.Fields(text), " ")), most)
}

func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
