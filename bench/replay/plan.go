// Package replay sends the writes of a load again that an audit log has, by plain clients and without an operator: the most that the same API server does of
// the same work, beside which an operator is measured.
//
// Each application's writes are sent in their order by one worker, in a namespace of another name and for objects of other UIDs. What waited for anything in the
// original waits for nothing: not while a pod runs, and for its binding only with Plan.Bound.
package replay

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

// Plan is what is sent again.
type Plan struct {
	// Applications are in the order in which they were created.
	Applications []*Application
	// Watches were open, each once.
	Watches []Watch
	// Bound has what a node writes of a pod wait until the scheduler has bound it. Without it a pod may be over before that, and is never bound: the limit is that
	// of the recorded writes alone.
	Bound bool
	// Left counts writes of the load, the operator and the nodes that belong to none of the applications, by audit.Event.Kind: leases, for example. They are not
	// sent. Stale counts references to owners that no write of the application made: who is owned like that would be collected as garbage.
	Left  map[string]int
	Stale int
}

// First is a plan of no more than the first n applications.
func (p *Plan) First(n int) *Plan {
	part := *p
	part.Applications = p.Applications[:min(n, len(p.Applications))]
	return &part
}

// Application is the writes of all actors for one application.
type Application struct {
	Namespace, Name string
	Writes          []*Write
	// uids are those that objects had and that other writes name; the objects get others when they are made again.
	uids []string
}

// Write is one request that wrote.
type Write struct {
	Verb   string
	URI    string
	Object audit.Object
	Actor  audit.Actor
	// Body is JSON, whatever it was.
	Body []byte

	received time.Time
	doubtful bool // it may not have been carried out
	about    about
	// teaches is which of the application's UIDs the answer replaces, counted from 1; 0 for none. uses are those that the body names, counted from 0.
	teaches int
	uses    []int
}

// Watch is a watch that an actor had open.
type Watch struct {
	Actor  audit.Actor
	URI    string
	Object audit.Object
}

// about is whom a write names.
type about struct {
	Kind     string
	Metadata struct {
		OwnerReferences []reference
	}
	InvolvedObject reference // of Events
}

type reference struct{ Kind, Name, UID string }

func (a about) references() []reference {
	if a.InvolvedObject.Kind == "" {
		return a.Metadata.OwnerReferences
	}
	return append(slices.Clip(a.Metadata.OwnerReferences), a.InvolvedObject)
}

// Read finds in a log with bodies what the load, the operator and the nodes wrote and was carried out, and what they watched up to the end of the scope.
func Read(in io.Reader, s audit.Scope) (*Plan, error) {
	var writes []*Write
	plan := &Plan{Left: map[string]int{}}
	err := audit.Read(in, func(e *audit.Event) error {
		switch e.Actor() {
		case audit.Load, audit.Operator, audit.Node:
		default:
			return nil
		}
		if e.Watch() && (s.To.IsZero() || !e.Done.After(s.To)) {
			plan.watch(e)
		}
		if e.Write() && (e.OK() || givenUp(e)) && s.Has(e) {
			w := &Write{Verb: e.Verb, URI: e.URI, Object: e.Object, Actor: e.Actor(), Body: e.Body, received: e.Received, doubtful: !e.OK()}
			_ = json.Unmarshal(e.Body, &w.about) // a JSON patch is about nothing
			writes = append(writes, w)
		}
		return nil
	})
	// What causes another request was received before it, though it may have been answered after.
	slices.SortStableFunc(writes, func(a, b *Write) int { return a.received.Compare(b.received) })
	plan.sort(settled(writes))
	for _, a := range plan.Applications {
		plan.Stale += a.link()
	}
	return plan, err
}

// givenUp says whether an event is a creation that its client gave up while it was under way, on an API server that had too much to do: the object may be there.
func givenUp(e *audit.Event) bool {
	return e.Verb == "create" && e.Status.Code == http.StatusGatewayTimeout
}

// settled leaves of the creations of one object that may have been carried out the one that was, or else the first.
func settled(writes []*Write) []*Write {
	made := map[audit.Object]bool{}
	for _, w := range writes {
		if w.Verb == "create" && !w.doubtful {
			made[w.Object] = true
		}
	}
	return slices.DeleteFunc(writes, func(w *Write) bool {
		if !w.doubtful {
			return false
		}
		was := made[w.Object]
		made[w.Object] = true
		return was
	})
}

// watch notes a watch unless it is there already.
func (p *Plan) watch(e *audit.Event) {
	u, err := url.Parse(e.URI)
	if err != nil {
		return
	}
	q := u.Query()
	for _, key := range []string{"resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeout", "timeoutSeconds"} {
		q.Del(key)
	}
	q.Set("watch", "true")
	u.RawQuery = q.Encode()
	w := Watch{e.Actor(), u.String(), e.Object}
	if !slices.Contains(p.Watches, w) {
		p.Watches = append(p.Watches, w)
	}
}

// sort hands the writes to their applications.
func (p *Plan) sort(writes []*Write) {
	owners, apps := audit.Owners{}, map[[2]string]*Application{}
	for _, w := range writes {
		e := &audit.Event{Verb: w.Verb, URI: w.URI, Object: w.Object, Body: w.Body} // which was carried out
		namespace, name, _ := owners.Application(e)
		of := [2]string{namespace, name}
		if e.Kind() == "create sparkapplications" {
			apps[of] = &Application{Namespace: namespace, Name: name}
			p.Applications = append(p.Applications, apps[of])
		}
		if apps[of] == nil {
			p.Left[e.Kind()]++
			continue
		}
		apps[of].Writes = append(apps[of].Writes, w)
	}
}

// link finds out which writes' answers have to be read, because later ones name the UIDs of what they made, and returns how many owners are named that no
// write made.
func (a *Application) link() (stale int) {
	made := map[reference]*Write{} // the write that made the object of a kind and name last
	seen := map[string]int{}       // UID -> its number, from 0; -1 for one that nobody made
	for _, w := range a.Writes {
		for _, r := range w.about.references() {
			if _, ok := seen[r.UID]; ok || r.UID == "" {
				continue
			}
			maker := made[reference{r.Kind, r.Name, ""}]
			if maker == nil || maker.teaches > 0 { // nobody made it, or the one who did made another of this name
				seen[r.UID] = -1
				stale++
				continue
			}
			seen[r.UID] = len(a.uids)
			a.uids = append(a.uids, r.UID)
			maker.teaches = len(a.uids)
		}
		if w.Verb == "create" || w.Verb == "patch" {
			made[reference{w.about.Kind, w.Object.Name, ""}] = w
		}
		for i, uid := range a.uids {
			if strings.Contains(string(w.Body), uid) {
				w.uses = append(w.uses, i)
			}
		}
	}
	return stale
}
