// Package model is the data of the pages of the console but its table: what a page shows about custom resources, pods,
// Events and records. All functions are pure. The types are the JSON of /api/v1 and the input of the components in
// package view.
//
// Texts that users control pass bounds.Line or bounds.Text on their way into the model, so that control characters are
// visible wherever the model is shown. Package view escapes HTML.
package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// Page is what all pages have in common.
type Page struct {
	Title string `json:"title"`
	// Section is the entry of the navigation that is current: all, namespaces, doctor or submit.
	Section string `json:"-"`
	// User is the name of the signed-in user; empty on the page of the sign-in.
	User string `json:"user,omitempty"`
	// CSRF is the token that forms send back.
	CSRF string `json:"-"`
	// Cluster names the cluster, such as the context of the kubeconfig.
	Cluster string    `json:"cluster,omitempty"`
	Now     time.Time `json:"now"`
	// SignOut is true if the user can sign out.
	SignOut bool `json:"-"`
}

// Policy is the Content-Security-Policy of the console's pages.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Object is what the pages of all kinds show about an object.
type Object struct {
	table.Row
	// Message is why the object is not ready, and Advice the way out of it.
	Message string `json:"message,omitempty"`
	Advice  string `json:"advice,omitempty"`
	// LogEnd is the end of the log of the container that ended.
	LogEnd     string      `json:"logEnd,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Pods       []Pod       `json:"pods,omitempty"`
	// Explanation has the lines of sparkctl explain, such as what happens next.
	Explanation []screen.Line `json:"explanation,omitempty"`
	Links       []Link        `json:"links,omitempty"`
	Actions     []Action      `json:"actions,omitempty"`
	// Missing says which parts of the page could not be read, and why.
	Missing []string    `json:"missing,omitempty"`
	Fresh   table.Fresh `json:"fresh"`
}

// Condition is a condition of the status.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Event is a Kubernetes Event about an object or its pods.
type Event struct {
	At      time.Time `json:"at"`
	Warning bool      `json:"warning,omitempty"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	// About is the kind and the name of what the Event is about, if it is not the object itself.
	About string `json:"about,omitempty"`
	Count int32  `json:"count,omitempty"`
}

// Link leads to another page. An external link leaves the console.
type Link struct {
	Title    string `json:"title"`
	URL      string `json:"url"`
	External bool   `json:"external,omitempty"`
}

// Action is something that the user can do with an object.
type Action struct {
	Name   string `json:"name"` // in the URL, such as restart
	Title  string `json:"title"`
	Danger bool   `json:"danger,omitempty"`
}

// Pod is a pod of an object.
type Pod struct {
	Name     string    `json:"name"`
	Role     string    `json:"role,omitempty"`
	Executor string    `json:"executor,omitempty"` // Spark's id of the executor
	Attempt  int32     `json:"attempt,omitempty"`
	Phase    string    `json:"phase"`
	Reason   string    `json:"reason,omitempty"` // why it waits or failed
	Restarts int32     `json:"restarts,omitempty"`
	Node     string    `json:"node,omitempty"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"` // of its Spark container
	Ended    time.Time `json:"ended,omitzero"`
	// From and Until are when it got a node, and when it stopped using its requests there.
	From  time.Time `json:"-"`
	Until time.Time `json:"-"`
	// CPUMillis and MemoryBytes are the requests of its containers; the fields that begin with Used have what it uses,
	// and are 0 if that is unknown.
	CPUMillis       int64 `json:"cpuMillis,omitempty"`
	MemoryBytes     int64 `json:"memoryBytes,omitempty"`
	UsedCPUMillis   int64 `json:"usedCPUMillis,omitempty"`
	UsedMemoryBytes int64 `json:"usedMemoryBytes,omitempty"`
}

// ObjectOf returns what all pages show about an object: its row, conditions, Events and pods.
func ObjectOf(object client.Object, pods []corev1.Pod, events []corev1.Event) Object {
	s := kube.Summarize(object)
	o := Object{Row: table.RowOf(object), Message: bounds.Line(s.Message), Advice: bounds.Line(s.Advice), LogEnd: bounds.Text(strings.TrimSpace(s.Log))}

	for _, c := range s.Conditions {
		o.Conditions = append(o.Conditions, conditionOf(&c))
	}

	for i := range events {
		o.Events = append(o.Events, eventOf(object, &events[i]))
	}

	slices.SortStableFunc(o.Events, func(a, b Event) int { return b.At.Compare(a.At) })

	for i := range pods {
		o.Pods = append(o.Pods, PodOf(&pods[i]))
	}
	return o
}

func conditionOf(c *metav1.Condition) Condition {
	return Condition{bounds.Line(c.Type), string(c.Status), bounds.Line(c.Reason), bounds.Line(c.Message), c.LastTransitionTime.Time.UTC()}
}

func eventOf(object client.Object, e *corev1.Event) Event {
	event := Event{
		At: paged.EventTime(e).UTC(), Warning: e.Type == corev1.EventTypeWarning, Reason: bounds.Line(e.Reason), Message: bounds.Line(e.Message), Count: e.Count,
	}
	if e.InvolvedObject.UID != object.GetUID() {
		event.About = bounds.Line(strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name)
	}
	return event
}

// Causes returns the lines of the explanation that say why the object is in its state, and the ways out of it.
func (o *Object) Causes() (lines []screen.Line) {
	for _, line := range o.Explanation {
		if line.Label != "state" && line.Label != "next" {
			lines = append(lines, line)
		}
	}
	return lines
}

// NextStep returns what happens next, as sparkctl explain says it; empty if that is unknown.
func (o *Object) NextStep() string {
	for _, line := range o.Explanation {
		if line.Label == "next" {
			return line.Text
		}
	}
	return ""
}

// Requested returns the sum of the requests of the pods that run, and of what they use.
func (o *Object) Requested() (sum Pod, pods int) {
	for _, p := range o.Pods {
		if p.Over() {
			continue
		}

		pods++
		sum.CPUMillis += p.CPUMillis
		sum.MemoryBytes += p.MemoryBytes
		sum.UsedCPUMillis += p.UsedCPUMillis
		sum.UsedMemoryBytes += p.UsedMemoryBytes
	}
	return sum, pods
}

// Usage is what the pods of an object have requested, multiplied by time.
type Usage struct {
	Total     statusv1.UsageSums    `json:"total"`
	Driver    statusv1.UsageSums    `json:"driver"`
	Executors statusv1.UsageSums    `json:"executors"`
	Earlier   statusv1.UsageSums    `json:"earlier"`
	Pending   statusv1.UsagePending `json:"pending"`
	Peak      int32                 `json:"peakExecutors,omitempty"`
	At        time.Time             `json:"at,omitzero"`
}

// UsageOf returns the usage of an object at the given time; nil for kinds without usage.
func UsageOf(object client.Object, now time.Time) *Usage {
	s := kube.Summarize(object)
	if s.Usage == nil {
		return nil
	}

	u := usageAt(s.Usage, now)
	return &Usage{
		Total: s.Used(now), Driver: u.Driver.UsageSums, Executors: u.Executors.UsageSums, Earlier: u.Earlier, Pending: u.Pending, Peak: cmp.Or(u.PeakExecutors, 0), At: now,
	}
}
