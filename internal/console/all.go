package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/a-h/templ"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/internal/console/live"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

const (
	// patience is how long a page waits for lists that are read for the first time. It then shows that they are loading.
	// Programs wait longer, because they do not look twice.
	patience, patienceOfPrograms = time.Second, 20 * time.Second
	// pause is the shortest time between two windows that one page receives.
	pause = 500 * time.Millisecond
	// heartbeat is the longest time between two windows. It keeps the connection open, and the freshness current.
	heartbeat = 15 * time.Second
	// writeTimeout ends the connection of a browser that does not read.
	writeTimeout = 30 * time.Second
)

// queryParameters describes the parameters of a query.
var queryParameters = map[string]string{
	"namespace": "only these namespaces, with commas", "kind": "only these kinds, such as app or sparkclusters.spark.apache.org", "result": "only these results: pending, running, succeeded, failed, suspended",
	"q": "words that the namespace, name, state, cause, owner or version must have, and comparisons of columns, such as duration>1h", "label": "a label selector, as kubectl takes it",
	"sort": "the column: " + strings.Join(table.Sorts, ", ") + "; with - before it, in reverse order", "offset": "the first row", "limit": fmt.Sprintf("the number of rows, at most %d", table.MaxLimit),
}

// addAll adds the table of all objects and its events.
func (c *console) addAll() {
	web.Page(c.Site, web.Route{
		Path: "/", API: "/objects", Title: "All", Section: "all", Summary: "The objects of all kinds that a query selects.", Parameters: queryParameters,
	}, c.readAll, view.All)
	c.Stream(web.Route{Path: "/events", Title: "Events", Summary: "The table as HTML, whenever it has changed.", Parameters: queryParameters}, c.events)
}

func (c *console) readAll(r *web.Request) (table.Window, error) {
	q, ignored := table.ParseQuery(r.URL.Query())

	v, err := c.open(r, q.Namespaces)
	if err != nil {
		return table.Window{}, err
	}
	defer v.Close()

	return windowOf(v, q, ignored, r.Now), nil
}

// windowOf returns the window of a query with notes about the values that ParseQuery ignored.
func windowOf(v *live.View, q table.Query, ignored []string, now time.Time) table.Window {
	w := v.Window(q, now)
	for _, text := range ignored {
		w.Notes = append(w.Notes, "Left out: "+text+".")
	}
	return w
}

// open returns a view whose lists have been read, or have taken too long. The caller closes it.
func (c *console) open(r *web.Request, named []string) (*live.View, error) {
	v, err := c.live.Open(r.Context(), r.Session.User, named)
	if err != nil {
		return nil, err
	}

	wait := patience
	if strings.HasPrefix(r.URL.Path, "/api/") {
		wait = patienceOfPrograms
	}

	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()

	v.Loaded(ctx)
	return v, nil
}

// events sends the window of a query whenever it has changed, as server-sent events (HTML Living Standard). They end
// with the session.
func (c *console) events(w http.ResponseWriter, r *web.Request) error {
	ctx := r.Context()
	q, ignored := table.ParseQuery(r.URL.Query())

	v, err := c.live.Open(ctx, r.Session.User, q.Namespaces)
	if err != nil {
		return err
	}
	defer v.Close()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect the events

	beat := time.NewTicker(heartbeat)
	defer beat.Stop()

	var last table.Window
	for sent := (time.Time{}); ; {
		now := time.Now()

		window := windowOf(v, q, ignored, now)
		if now.Sub(sent) >= heartbeat-time.Second || !same(window, last) {
			last, sent = window, now
			if err := send(ctx, w, "window", view.Window(window, now)); err != nil {
				return nil // the browser has gone
			}
		}

		if !next(r, v, beat.C) {
			return nil
		}

		if !c.still(w, r, v) {
			return send(ctx, w, "ended", nil)
		}
	}
}

// still reports whether the session of a page lasts, and renews what the user may see. If the API server cannot be
// reached, the page keeps what it shows. A user who may not even ask about rights, such as one whom the console may no
// longer impersonate, sees nothing more.
func (c *console) still(w http.ResponseWriter, r *web.Request, v *live.View) bool {
	found := c.Lasting(w, r)
	if found == nil {
		return false
	}

	r.Session = found

	err := v.Check(r.Context())
	if apierrors.IsUnauthorized(err) {
		c.Sessions.End(r.Session.User)
	}
	return !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err)
}

// next waits until the rows have changed, and until the pause is over. It returns false if the browser has gone.
func next(r *web.Request, v *live.View, beat <-chan time.Time) bool {
	rest := time.After(pause)

	select {
	case <-r.Context().Done():
		return false
	case <-r.Session.Done():
		return true
	case <-beat:
	case <-v.Changed():
	}

	select {
	case <-r.Context().Done():
		return false
	case <-r.Session.Done():
	case <-rest:
	}
	return true
}

// send sends an event with the lines of a component.
func send(ctx context.Context, w http.ResponseWriter, name string, c templ.Component) error {
	var text bytes.Buffer
	if c != nil {
		if err := c.Render(ctx, &text); err != nil {
			return err
		}
	}

	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // every server of Go supports it

	event := "event: " + name + "\ndata: " + strings.ReplaceAll(strings.ReplaceAll(text.String(), "\r", ""), "\n", "\ndata: ") + "\n\n"
	if _, err := io.WriteString(w, event); err != nil {
		return err
	}
	return control.Flush()
}

// same reports whether two windows show the same, apart from their freshness.
func same(a, b table.Window) bool {
	a.Fresh.At, b.Fresh.At = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}
