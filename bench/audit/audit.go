// Package audit reads the API server's audit log. It counts the writes of each client, and measures how long the
// controller that manages the applications takes to react to the writes of other clients. All times are the API
// server's own.
package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// User agents that identify the bench's clients in the log. The client with LoadAgent creates applications. The
// simulated nodes and their drivers use NodeAgent, and the plain client-go program (package plain) uses PlainAgent.
const (
	LoadAgent     = "spark-bench-load"
	NodeAgent     = "spark-bench-node"
	PlainAgent    = "spark-bench-plain"
	OperatorAgent = "spark-operator/"
)

// event holds the fields that are read from an audit.k8s.io/v1 Event.
type event struct {
	Stage     string    `json:"stage"`
	Verb      string    `json:"verb"`
	URI       string    `json:"requestURI"`
	UserAgent string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Done      time.Time `json:"stageTimestamp"`
	Object    struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// Body is the object in the request. It is JSON, even if the client sent another encoding.
	Body json.RawMessage `json:"requestObject"`
}

// write reports whether the event completes a request that changes stored objects. Dry runs, access reviews and token
// reviews store nothing.
func (e *event) write() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		question := e.Object.Group == "authorization.k8s.io" || e.Object.Group == "authentication.k8s.io"
		return e.Stage == "ResponseComplete" && !question && !strings.Contains(e.URI, "dryRun=")
	}
	return false
}

func (e *event) ok() bool { return e.Status.Code < http.StatusMultipleChoices }

// kind returns the verb and the resource of the request, such as "patch pods/status".
func (e *event) kind() string {
	if e.Object.Subresource != "" {
		return e.Verb + " " + e.Object.Resource + "/" + e.Object.Subresource
	}
	return e.Verb + " " + e.Object.Resource
}

// class returns the element of Classes to which a controller's write belongs. It returns an empty string for a write of
// a lease, because leases are not counted.
func (e *event) class() string {
	switch e.kind() {
	case "create pods", "create configmaps", "create services":
		return Objects
	case "patch sparkapplications/status", "update sparkapplications/status":
		return StatusWrites
	case "create events", "patch events":
		return Events
	case "create leases", "update leases", "patch leases":
		return ""
	}
	return Others
}

// body holds those fields of a written object that this package reads: the labels, the subject of an Event, the phase
// of a pod, and the states of the driver and the executors in an application's status.
type body struct {
	Metadata struct {
		Labels map[string]string
	}
	InvolvedObject struct{ Kind, Name string }
	Status         struct {
		Phase            string
		ApplicationState struct{ State string }
		CurrentState     struct{ CurrentStateSummary string } // of spark.apache.org
		ExecutorState    map[string]string
	}
}

func (e *event) body() (b body) {
	if json.Unmarshal(e.Body, &b) != nil {
		return body{} // a JSON patch or the options of a deletion, which have none of these fields
	}
	return b
}

// Classes of the writes of a controller.
const (
	Objects      = "objects created" // pods, ConfigMaps, Services
	StatusWrites = "status writes"
	Events       = "events" // creations, and updates of the count
	Others       = "other writes"
)

// Classes lists all classes.
var Classes = []string{Objects, StatusWrites, Events, Others}

// Scope selects the writes in a log that belong to one load. These are the writes for applications in the listed
// Namespaces that the API server answered between From and To. The user agent of the controller that manages the
// applications begins with the text Controller.
type Scope struct {
	From, To   time.Time
	Namespaces []string
	Controller string
}

// Account summarizes the audit log of one load. Add merges the accounts of several loads of the same controller.
type Account struct {
	// Launch holds the times from the creation of an application to the creation of its driver pod. Driver and Executor
	// hold the times from a change of the phase of a driver pod or an executor pod to the status write that reflects
	// the change. The time counts as 0 if the API server answered the status write first.
	Launch, Driver, Executor []time.Duration
	// NoDriver counts applications without a driver pod. NoStatus and NoExecutorStatus count changes of driver and
	// executor pods that no status reflects.
	NoDriver, NoStatus, NoExecutorStatus int
	// Writes counts the controller's writes by class. MaxWrites holds, for each class, the largest number of writes for
	// one application that ended COMPLETED.
	Writes, MaxWrites map[string]int
	// Rejected counts the controller's writes to which the API server answered with a 4xx status.
	Rejected int
	// WithoutApplication counts the controller's writes that belong to no application, except leases. OtherNamespaces
	// counts its writes for applications outside the load's namespaces.
	WithoutApplication, OtherNamespaces int
	// AllWrites counts the writes of all clients in the load's namespaces. Bytes is the size of the controller's writes
	// as JSON.
	AllWrites, Bytes int
	// Answers holds the times at which the API server answered writes of the load, the controller and the nodes. Add
	// does not merge it.
	Answers []time.Time
}

// Add merges another account into this one.
func (a *Account) Add(b Account) {
	if a.Writes == nil {
		a.Writes, a.MaxWrites = map[string]int{}, map[string]int{}
	}

	for _, class := range Classes {
		a.Writes[class] += b.Writes[class]
		a.MaxWrites[class] = max(a.MaxWrites[class], b.MaxWrites[class])
	}

	for into, lags := range map[*[]time.Duration][]time.Duration{&a.Launch: b.Launch, &a.Driver: b.Driver, &a.Executor: b.Executor} {
		*into = append(*into, lags...)
	}

	for into, n := range map[*int]int{
		&a.NoDriver: b.NoDriver, &a.NoStatus: b.NoStatus, &a.NoExecutorStatus: b.NoExecutorStatus,
		&a.Rejected: b.Rejected, &a.WithoutApplication: b.WithoutApplication, &a.OtherNamespaces: b.OtherNamespaces, &a.AllWrites: b.AllWrites, &a.Bytes: b.Bytes,
	} {
		*into += n
	}
}

// Read reads a log. It ignores an incomplete last line, which the API server is still writing.
func Read(in io.Reader, s Scope) (Account, error) {
	r := reader{scope: s, owners: map[object]owner{}, lives: map[object]*life{}}
	r.Writes, r.MaxWrites = map[string]int{}, map[string]int{}

	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			r.conclude()
			return r.Account, nil
		}

		if bytes.Contains(line, []byte(`"verb":"get"`)) || bytes.Contains(line, []byte(`"verb":"list"`)) {
			continue // reads, which are most lines of a busy log
		}

		var e event
		if err := errors.Join(err, json.Unmarshal(line, &e)); err != nil {
			return r.Account, fmt.Errorf("audit log, line %d: %w", n, err)
		}

		if e.write() {
			r.handle(&e)
		}
	}
}

func (s Scope) contains(e *event) bool {
	return !e.Done.Before(s.From) && (s.To.IsZero() || !e.Done.After(s.To))
}

// object is the key of an API object. owner is the application to which an object belongs. For a pod, owner also
// contains the pod's Spark role.
type (
	object struct{ resource, namespace, name string }
	owner  struct{ app, role string }
)

// life holds the writes within the scope that belong to one application.
type life struct {
	created, launched time.Time
	driver            pod
	executors         map[string]*pod
	writes            map[string]int
	completed         bool
}

// pod holds two lists of changes: the changes of a pod's phase, and the changes of the state that the application's
// status reports for this pod.
type pod struct{ changes, statuses []change }

type change struct {
	received, done time.Time
	ended          bool // the pod ended; otherwise it runs
}

type reader struct {
	Account
	scope  Scope
	owners map[object]owner
	lives  map[object]*life
}

// Labels of pods, ConfigMaps and Services: the name of the application in each API group, and the pod's role.
const (
	appLabel, apacheLabel = "sparkoperator.k8s.io/app-name", "spark.operator/spark-app-name"
	roleLabel             = "spark-role"
)

// owner returns the application to which a write belongs, and whether it is known. A write of an Event belongs to the
// owner of its subject. A write of another object belongs to the application that the object's labels named at
// creation, even if the creation was before the scope.
func (r *reader) owner(e *event, b body) (owner, bool) {
	at, named := object{e.Object.Resource, e.Object.Namespace, e.Object.Name}, cmp.Or(b.Metadata.Labels[appLabel], b.Metadata.Labels[apacheLabel])
	switch {
	case at.resource == "sparkapplications":
		return owner{app: at.name}, true
	case at.resource == "events" && b.InvolvedObject.Kind == "SparkApplication":
		return owner{app: b.InvolvedObject.Name}, true
	case at.resource == "events":
		at.resource, at.name = "pods", b.InvolvedObject.Name
	case e.Verb == "create" && named != "" && e.ok():
		r.owners[at] = owner{named, b.Metadata.Labels[roleLabel]}
	}

	known, ok := r.owners[at]
	return known, ok
}

func (r *reader) handle(e *event) {
	b := e.body()

	subject, known := r.owner(e, b)
	if !r.scope.contains(e) {
		return
	}

	controller := strings.HasPrefix(e.UserAgent, r.scope.Controller)

	inside := slices.Contains(r.scope.Namespaces, e.Object.Namespace)
	switch {
	case !e.ok():
		if inside && controller && e.Status.Code < http.StatusInternalServerError {
			r.Rejected++
		}
		return
	case controller && !known && e.class() != "":
		r.WithoutApplication++
	case controller && known && !inside:
		r.OtherNamespaces++
	}

	if inside {
		r.count(e, controller)

		if known {
			r.write(e, b, subject, controller)
		}
	}
}

// count adds a write to the totals of the load: AllWrites, Bytes and Answers. The write must be in one of the load's
// namespaces.
func (r *reader) count(e *event, controller bool) {
	r.AllWrites++
	if controller {
		r.Bytes += len(e.Body)
	}

	if controller || strings.HasPrefix(e.UserAgent, LoadAgent) || strings.HasPrefix(e.UserAgent, NodeAgent) {
		r.Answers = append(r.Answers, e.Done)
	}
}

// write records a write in the life of the application to which it belongs.
func (r *reader) write(e *event, b body, subject owner, controller bool) {
	key := object{"", e.Object.Namespace, subject.app}

	l := r.lives[key]
	if l == nil {
		l = &life{executors: map[string]*pod{}, writes: map[string]int{}}
		r.lives[key] = l
	}

	if class := e.class(); controller && class != "" {
		r.Writes[class]++
		l.writes[class]++
	}

	switch kind := e.kind(); {
	case kind == "create sparkapplications":
		l.created = e.Done
	case kind == "create pods" && subject.role == "driver" && l.launched.IsZero():
		l.launched = e.Done
	case kind == "patch pods/status":
		l.podChanged(e, b, subject)
	case controller && e.class() == StatusWrites:
		l.statusWritten(e, b)
	}
}

// podChanged records that a pod started to run or ended.
func (l *life) podChanged(e *event, b body, subject owner) {
	phase := b.Status.Phase
	if phase != "Running" && phase != "Succeeded" && phase != "Failed" {
		return
	}

	p := &l.driver
	if subject.role == "executor" {
		p = l.executor(e.Object.Name)
	}

	if ended := phase != "Running"; len(p.changes) == 0 || p.changes[len(p.changes)-1].ended != ended {
		p.changes = append(p.changes, change{e.Received, e.Done, ended})
	}
}

func (l *life) executor(name string) *pod {
	if l.executors[name] == nil {
		l.executors[name] = &pod{}
	}
	return l.executors[name]
}

// statusWritten records a write of an application's status. The write may be a patch, which contains only the changed
// fields, so a missing field means that the field has not changed.
func (l *life) statusWritten(e *event, b body) {
	at := change{received: e.Received, done: e.Done}
	switch state := cmp.Or(b.Status.ApplicationState.State, b.Status.CurrentState.CurrentStateSummary); state {
	case "RUNNING", "RunningHealthy":
		l.driver.statuses = append(l.driver.statuses, at)
	case "SUCCEEDING", "FAILING", "COMPLETED", "FAILED", "PENDING_RERUN", "Succeeded", "Failed", "ResourceReleased":
		at.ended = true
		l.driver.statuses = append(l.driver.statuses, at)
		l.completed = state == "COMPLETED" || state == "ResourceReleased"
	}

	for name, state := range b.Status.ExecutorState {
		if state == "RUNNING" || state == "COMPLETED" || state == "FAILED" {
			p := l.executor(name)
			p.statuses = append(p.statuses, change{e.Received, e.Done, state != "RUNNING"})
		}
	}
}

// lags returns, for each change of the pod, the delay until the first status that reports the change. It also returns
// the number of changes that no status reports.
//
// A status that was stored before a change normally describes an earlier pod with the same name. If onlyLater is true,
// lags therefore ignores such statuses. For executors onlyLater must be false: when the driver ends, the operator may
// report the end of an executor before the executor's own pod changes.
func (p *pod) lags(onlyLater bool) (took []time.Duration, missed int) {
	for _, c := range p.changes {
		i := slices.IndexFunc(p.statuses, func(s change) bool {
			return (s.ended || !c.ended) && (!onlyLater || !s.done.Before(c.received))
		})
		if i < 0 {
			missed++
			continue
		}

		took = append(took, max(0, p.statuses[i].done.Sub(c.done)))
	}
	return took, missed
}

// conclude computes the results for the applications that were created within the scope.
func (r *reader) conclude() {
	for _, l := range r.lives {
		if l.created.IsZero() {
			continue
		}

		if l.launched.IsZero() {
			r.NoDriver++
		} else {
			r.Launch = append(r.Launch, max(0, l.launched.Sub(l.created)))
		}

		took, missed := l.driver.lags(true)

		r.Driver, r.NoStatus = append(r.Driver, took...), r.NoStatus+missed
		for _, x := range l.executors {
			took, missed := x.lags(false)
			r.Executor, r.NoExecutorStatus = append(r.Executor, took...), r.NoExecutorStatus+missed
		}

		if l.completed {
			for _, class := range Classes {
				r.MaxWrites[class] = max(r.MaxWrites[class], l.writes[class])
			}
		}
	}
}
