package table

import (
	"net/url"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Fresh says how old the data of a page is.
type Fresh struct {
	// At is when the data was last confirmed: by an event or a bookmark of a watch, or by a read. It is zero if a part of
	// the data was never read.
	At time.Time `json:"at,omitzero"`
	// Live is true if the page updates itself by a watch.
	Live bool `json:"live"`
	// Stale says why the data may be outdated; empty if it is current.
	Stale string `json:"stale,omitempty"`
}

// Window is the part of the table that a page shows, and the facts about all rows that its query selects.
type Window struct {
	Query Query `json:"query"`
	Rows  []Row `json:"rows"`
	// Total is the number of rows that the query selects. All is the number that the user may see.
	Total int `json:"total"`
	All   int `json:"all"`
	// Counts has the number of rows by result, for the query without its results.
	Counts map[kube.Result]int `json:"counts"`
	Hours  Hours               `json:"hours"`
	Fresh  Fresh               `json:"fresh"`
	// Loading is true while a list is read for the first time; the window may then be incomplete.
	Loading bool `json:"loading,omitempty"`
	// Denied is true if the user may see no kind in any namespace that the console knows or the query names.
	Denied bool `json:"denied,omitempty"`
	// Notes name what is missing, such as kinds that the user may not list, and parameters that were left out.
	Notes []string `json:"notes,omitempty"`
	// Namespaces are those that the user may choose from.
	Namespaces []string `json:"namespaces,omitempty"`
}

// WindowOf returns the window of a query over rows. It sets neither the freshness nor the notes.
func WindowOf(rows []*Row, q Query, now time.Time) Window {
	w := Window{Query: q, Rows: []Row{}, All: len(rows), Counts: map[kube.Result]int{}, Hours: HoursSince(now)}
	w.Query.Limit = min(q.Limit, MaxLimit)

	every := q
	every.Results = nil
	selects := every.Filter(now)

	var selected []*Row
	for _, row := range rows {
		if !selects(row) {
			continue
		}

		w.Counts[row.Result]++
		if len(q.Results) == 0 || slices.Contains(q.Results, row.Result) {
			selected = append(selected, row)
			w.Hours.Add(row, now)
		}
	}

	w.Total = len(selected)
	slices.SortFunc(selected, q.Order(now))

	for _, row := range selected[min(q.Offset, w.Total):min(q.Offset+q.Size(), w.Total)] {
		w.Rows = append(w.Rows, *row)
	}
	return w
}

// Hour counts the objects of one hour: those that ran and those that were pending at some time in it, and those whose
// attempt failed in it.
type Hour struct {
	Start   time.Time `json:"start"`
	Running int       `json:"running"`
	Pending int       `json:"pending"`
	Failed  int       `json:"failed"`
}

// Hours are the last 24 hours, oldest first. The last one contains the present.
type Hours [24]Hour

// HoursSince returns the 24 hours until the given time, without objects.
func HoursSince(now time.Time) (h Hours) {
	last := now.UTC().Truncate(time.Hour)
	for i := range h {
		h[i].Start = last.Add(time.Duration(i-len(h)+1) * time.Hour)
	}
	return h
}

// Add counts a row. Schedules do not count, because their runs do.
func (h *Hours) Add(r *Row, now time.Time) {
	if r.Kind == kinds.Schedule.FullName() {
		return
	}

	for i := range h {
		pending, running := r.during(&h[i], now)
		if pending {
			h[i].Pending++
		}

		if running {
			h[i].Running++
		}

		if r.Result == kube.Failed && r.Ended.UTC().Truncate(time.Hour).Equal(h[i].Start) {
			h[i].Failed++
		}
	}
}

// during reports whether an object was pending, and whether it ran, at some time in an hour.
func (r *Row) during(h *Hour, now time.Time) (pending, running bool) {
	since, until := r.Created, r.Started // pending before the current attempt
	if len(r.earlier) > 0 {
		since = r.earlier[len(r.earlier)-1].to
	}

	if until.IsZero() && r.Result == kube.Pending {
		until = now
	}

	pending = until.After(since) && h.overlaps(since, until)
	if r.Result == kube.Pending && !r.Ended.IsZero() { // waits for a retry
		pending = pending || h.overlaps(r.Ended, now)
	}

	running = !r.Started.IsZero() && h.overlaps(r.Started, r.runningUntil(now))

	for _, p := range r.earlier {
		within := h.overlaps(p.from, p.to)
		pending, running = pending || within && !p.running, running || within && p.running
	}
	return pending, running
}

// overlaps reports whether a time from begin to end has a part in the hour.
func (h *Hour) overlaps(begin, end time.Time) bool {
	return begin.Before(h.Start.Add(time.Hour)) && end.After(h.Start)
}

// runningUntil returns when an object ended that has started, or the given time if it still runs.
func (r *Row) runningUntil(now time.Time) time.Time {
	switch {
	case !r.Ended.IsZero():
		return r.Ended
	case r.Suspended || r.Result == kube.Succeeded || r.Result == kube.Failed:
		return r.Started // when it ended is unknown
	}
	return now
}

// ObjectPath returns the path of the page of an object. The kind is the resource with its group.
func ObjectPath(kind, namespace, name string) string {
	return "/o/" + url.PathEscape(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}
