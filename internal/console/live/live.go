// Package live keeps the rows of all objects that the users of the console look at.
//
// A feed watches the objects of one kind in one namespace, or in all. All users who may list and watch these objects
// share it. It runs with the credentials of one of them, and ends when nobody has looked for a while. A scope is the
// set of feeds of a user; users with the same rights share the scope, and the windows that are computed over its rows.
// A view is what one page holds.
package live

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Options are the settings of a Store.
type Options struct {
	// Namespaces are those in which a user without rights on all namespaces may look, if the user cannot list namespaces.
	Namespaces []string
	// Linger is for how long a feed continues when nobody looks; 0: 30 s.
	Linger time.Duration
	// Rejected is called with a user whose credentials the API server rejects.
	Rejected func(*session.User)
}

// Store has the feeds.
type Store struct {
	Options
	ctx context.Context //nolint:containedctx // the life of the feeds, which is that of the store

	rights rights

	mu     sync.Mutex
	feeds  map[key]*feed
	scopes map[string]*scope
}

// key identifies a feed. An empty namespace means all.
type key struct {
	kind      *kinds.Kind
	namespace string
}

func (k key) String() string { return k.kind.FullName() + "/" + k.namespace }

// New returns a store whose feeds end with the context.
func New(ctx context.Context, o Options) *Store {
	if o.Linger == 0 {
		o.Linger = 30 * time.Second
	}

	if o.Rejected == nil {
		o.Rejected = func(*session.User) {}
	}
	return &Store{Options: o, ctx: ctx, feeds: map[key]*feed{}, scopes: map[string]*scope{}, rights: newRights()}
}

// View is what one page holds. A page that has no views keeps no feed alive.
type View struct {
	store   *Store
	user    *session.User
	named   []string
	changed chan struct{}
	scope   *scope
	access  access
}

// Open returns a view of the objects that a user may see. The namespaces that the page names are added to those that
// are known to the user.
func (s *Store) Open(ctx context.Context, user *session.User, named []string) (*View, error) {
	v := &View{store: s, user: user, named: named, changed: make(chan struct{}, 1)}
	if err := v.Check(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// Check renews what the user may see. Pages that stay open call it every minute.
func (v *View) Check(ctx context.Context) error {
	found, err := v.store.rights.access(ctx, v.user, v.named, v.store.Namespaces)
	if err != nil {
		return err
	}

	v.access = found
	if v.scope != nil && v.scope.id == scopeID(found.keys) {
		return nil
	}

	before := v.scope
	v.scope = v.store.join(v, found.keys)
	v.store.leave(v, before)
	v.notify()
	return nil
}

// Close ends the view.
func (v *View) Close() {
	v.store.leave(v, v.scope)
	v.scope = nil
}

// Changed returns a channel that receives a value when the rows have changed.
func (v *View) Changed() <-chan struct{} { return v.changed }

func (v *View) notify() {
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// Loaded waits until all lists have been read once, or the context ends.
func (v *View) Loaded(ctx context.Context) {
	for _, f := range v.scope.feeds {
		select {
		case <-f.loaded:
		case <-ctx.Done():
			return
		}
	}
}

// Window returns the rows of a query, with their freshness.
func (v *View) Window(q table.Query, now time.Time) table.Window {
	w := v.scope.window(q, now)
	w.Fresh, w.Loading = v.scope.fresh(now)
	w.Notes = append(slices.Clone(w.Notes), v.access.notes...)
	w.Namespaces, w.Denied = v.access.namespaces, len(v.access.keys) == 0

	if v.access.everywhere && len(w.Namespaces) == 0 {
		w.Namespaces = v.scope.namespaces()
	}
	return w
}

// Rows returns all rows. They must not be changed.
func (v *View) Rows() []*table.Row { return v.scope.all() }

// Fresh returns how old the rows are, and whether a list is read for the first time.
func (v *View) Fresh(now time.Time) (fresh table.Fresh, loading bool) { return v.scope.fresh(now) }

// Namespaces returns the namespaces in which the user may see objects of some kind, as far as they are known.
func (v *View) Namespaces() []string { return v.access.namespaces }

func scopeID(keys []key) string {
	var id strings.Builder
	for _, k := range keys {
		id.WriteString(k.String() + " ")
	}
	return id.String()
}

// join adds a view to the scope of the keys, whose feeds it starts if they do not run.
func (s *Store) join(v *View, keys []key) *scope {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := scopeID(keys)

	found := s.scopes[id]
	if found == nil {
		found = &scope{id: id, views: map[*View]bool{}}
		for _, k := range keys {
			found.feeds = append(found.feeds, s.feed(k))
		}

		s.scopes[id] = found
	}

	found.mu.Lock()
	found.views[v] = true
	found.mu.Unlock()

	for _, f := range found.feeds {
		f.join(found, v.user)
	}
	return found
}

// feed returns the feed of a key, and starts it if it does not run.
func (s *Store) feed(k key) *feed {
	if f := s.feeds[k]; f != nil {
		return f
	}

	ctx, stop := context.WithCancel(s.ctx)
	f := &feed{
		key: k, rejected: s.reject, stop: stop, rows: map[string]*table.Row{}, loaded: make(chan struct{}), scopes: map[*scope]bool{}, holders: map[*session.User]int{}, denied: map[*session.User]time.Time{}, wake: make(chan struct{}, 1),
	}
	s.feeds[k] = f

	go f.run(ctx)
	return f
}

// leave removes a view from a scope. Feeds without views end after a while.
func (s *Store) leave(v *View, from *scope) {
	if from == nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	from.mu.Lock()
	delete(from.views, v)
	empty := len(from.views) == 0
	from.mu.Unlock()

	for _, f := range from.feeds {
		f.leave(from, v.user, empty)
	}

	if empty {
		delete(s.scopes, from.id)
		time.AfterFunc(s.Linger, s.sweep)
	}
}

// sweep ends the feeds at which nobody has looked for a while.
func (s *Store) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for k, f := range s.feeds {
		if f.unused(s.Linger) {
			f.stop()
			delete(s.feeds, k)
		}
	}
}

// reject handles that the API server refuses a watch to a user: the rights are read again.
func (s *Store) reject(user *session.User, unauthorized bool) {
	s.rights.forget(user)

	if unauthorized {
		s.Rejected(user)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	for _, each := range s.scopes {
		each.notify()
	}
}

// scope is a set of feeds, and what is computed over their rows.
type scope struct {
	id    string
	feeds []*feed

	mu       sync.Mutex
	views    map[*View]bool
	version  uint64 // of the rows and windows below
	current  uint64 // of the feeds
	rows     []*table.Row
	windows  map[string]table.Window
	computed time.Time // when the first of the windows was computed
}

// notify marks the rows as changed.
func (s *scope) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.current++
	for v := range s.views {
		v.notify()
	}
}

// refresh reads the rows of the feeds, if they have changed. The caller holds the lock.
func (s *scope) refresh() {
	if s.rows != nil && s.version == s.current {
		return
	}

	s.version, s.windows = s.current, nil

	s.rows = make([]*table.Row, 0, len(s.rows))
	for _, f := range s.feeds {
		s.rows = f.appendRows(s.rows)
	}
}

func (s *scope) all() []*table.Row {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.refresh()
	return s.rows
}

// maxWindows and windowLifetime bound the windows that a scope keeps.
const (
	maxWindows     = 100
	windowLifetime = 10 * time.Second
)

// window returns the window of a query. Pages with the same query share it.
func (s *scope) window(q table.Query, now time.Time) table.Window {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.refresh()

	// Durations and hours change with time, so a window does not last.
	if s.windows == nil || now.Sub(s.computed) > windowLifetime || len(s.windows) >= maxWindows {
		s.windows, s.computed = map[string]table.Window{}, now
	}

	id := q.Values().Encode()

	w, known := s.windows[id]
	if !known {
		w = table.WindowOf(s.rows, q, now)
		s.windows[id] = w
	}
	return w
}

// namespaces returns the namespaces of the rows.
func (s *scope) namespaces() []string {
	names := map[string]bool{}
	for _, row := range s.all() {
		names[row.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// fresh returns how old the rows are: as old as those of the feed that was confirmed first. The time is zero while a
// list is read for the first time, which fresh returns too.
func (s *scope) fresh(now time.Time) (fresh table.Fresh, loading bool) {
	fresh = table.Fresh{At: now, Live: true}
	for _, f := range s.feeds {
		at, stale, loaded := f.state()
		if !loaded {
			loading = true
			fresh.At, fresh.Stale = time.Time{}, cmp.Or(stale, fresh.Stale)

			continue
		}

		if at.Before(fresh.At) {
			fresh.At = at
		}

		if stale != "" {
			fresh.Stale = stale
		}
	}

	fresh.Live = fresh.Stale == "" && !loading
	return fresh, loading
}
