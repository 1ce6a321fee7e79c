// Package audit reads the API server's audit log: who wrote what, how large it was and when it was answered. It holds no line longer than it is looked at, as a
// log with bodies has hundreds of megabytes.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Event is what is read of an audit.k8s.io/v1 Event.
type Event struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	URI       string `json:"requestURI"`
	UserAgent string `json:"userAgent"`
	// Received and Done are when the request came and when it was answered; of a watch, when it began.
	Received time.Time `json:"requestReceivedTimestamp"`
	Done     time.Time `json:"stageTimestamp"`
	Object   Object    `json:"objectRef"`
	Status   struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// Body is what was sent, as JSON whatever it was encoded in: the object, the patch, or options of a deletion. The log must have bodies
	// (world.Options.Bodies).
	Body json.RawMessage `json:"requestObject"`
}

// Object is what a request is about.
type Object struct {
	Group       string `json:"apiGroup"`
	Version     string `json:"apiVersion"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// Stages of requests that are in the log.
const (
	started  = "ResponseStarted" // a watch, when it begins
	complete = "ResponseComplete"
)

// Actor is who sent a request, as its user agent tells.
type Actor string

// The actors of a measurement, by their user agents; the bench's clients are made with World.Client.
const (
	Load        Actor = "load"
	Node        Actor = "node"
	Operator    Actor = "operator"
	Controllers Actor = "controller manager"
	Scheduler   Actor = "scheduler"
	Other       Actor = "other"
)

// Agents of the bench's own actors.
const (
	LoadAgent = "spark-bench-load"
	NodeAgent = "spark-bench-node"
)

// agents begin the actors' user agents.
var agents = []struct {
	prefix string
	actor  Actor
}{
	{LoadAgent, Load}, {NodeAgent, Node}, {"spark-operator/", Operator}, {"kube-controller-manager/", Controllers}, {"kube-scheduler/", Scheduler},
}

// Actor is who sent the request.
func (e *Event) Actor() Actor {
	for _, a := range agents {
		if strings.HasPrefix(e.UserAgent, a.prefix) {
			return a.actor
		}
	}
	return Other
}

// questions are the groups of what is created to ask and is never stored.
var questions = []string{"authorization.k8s.io", "authentication.k8s.io"}

// Write says whether the event is the answer to a request that writes, whatever the answer. Dry runs write nothing, nor do questions that are asked by creating one,
// such as whether an account may do something.
func (e *Event) Write() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return e.Stage == complete && !strings.Contains(e.URI, "dryRun=") && !slices.Contains(questions, e.Object.Group)
	}
	return false
}

// Watch says whether the event is the begin of a watch.
func (e *Event) Watch() bool { return e.Stage == started && e.Verb == "watch" }

// OK says whether the answer was no error.
func (e *Event) OK() bool { return e.Status.Code < http.StatusMultipleChoices }

// Kind is the request in two words: "patch pods/status".
func (e *Event) Kind() string {
	if e.Object.Subresource == "" {
		return e.Verb + " " + e.Object.Resource
	}
	return e.Verb + " " + e.Object.Resource + "/" + e.Object.Subresource
}

// Read calls each for the events of a log, in the order in which they were noted: requests when they were answered, watches when they began. The event is each's
// for as long as it runs. A last line without its end is still being written, and is left out.
func Read(in io.Reader, each func(*Event) error) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// Most requests of a busy log read, which nobody wants to know of here.
		if bytes.Contains(line, []byte(`"verb":"get"`)) || bytes.Contains(line, []byte(`"verb":"list"`)) {
			continue
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("audit log, line %d: %w", n, err)
		}
		if err := each(&e); err != nil {
			return err
		}
	}
}

// Scope says which events are looked at. Its zero value has all.
type Scope struct {
	// From and To bound when requests were answered; zero times do not.
	From, To time.Time
	// Namespace says which namespaces are looked at; nil for all, and for what is in none.
	Namespace func(string) bool
}

// Has says whether an event is looked at.
func (s Scope) Has(e *Event) bool {
	return s.during(e) && (s.Namespace == nil || s.Namespace(e.Object.Namespace))
}

// during says whether an event is of the time that is looked at.
func (s Scope) during(e *Event) bool {
	return !e.Done.Before(s.From) && (s.To.IsZero() || !e.Done.After(s.To))
}
