package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// firstPause and lastPause are the times between two attempts to reach the API server, which double.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
	// undefinedPause is the time after which a kind without a definition is tried again.
	undefinedPause = 30 * time.Second
)

// feed watches the objects of one kind.
type feed struct {
	key
	rejected func(user *session.User, unauthorized bool)
	stop     func()
	wake     chan struct{} // receives a value when a user joins
	loaded   chan struct{} // closed when the list was read once

	mu      sync.Mutex
	rows    map[string]*table.Row
	at      time.Time // of the last answer of the API server
	stale   string    // why the rows are not live
	scopes  map[*scope]bool
	holders map[*session.User]int       // the users who look, with the number of their views
	denied  map[*session.User]time.Time // the users to whom the API server has refused the objects, and when
	left    time.Time                   // when the last user left
}

func (f *feed) join(s *scope, user *session.User) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.scopes[s] = true
	f.holders[user]++

	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// leave removes one view of a user and, if it was the last one of the scope, the scope.
func (f *feed) leave(s *scope, user *session.User, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if last {
		delete(f.scopes, s)
	}

	if f.holders[user]--; f.holders[user] <= 0 {
		delete(f.holders, user)
		delete(f.denied, user)
	}

	f.left = time.Now()
}

func (f *feed) unused(since time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return len(f.holders) == 0 && time.Since(f.left) >= since
}

// appendRows appends the rows to a list.
func (f *feed) appendRows(to []*table.Row) []*table.Row {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, row := range f.rows {
		to = append(to, row)
	}
	return to
}

// state returns when the rows were last confirmed, why they are not live, and whether they were read.
func (f *feed) state() (at time.Time, stale string, loaded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	select {
	case <-f.loaded:
		loaded = true
	default:
	}
	return f.at, f.stale, loaded
}

// change changes the feed, and tells the scopes if the change returns true.
func (f *feed) change(change func() bool) {
	f.mu.Lock()
	var scopes []*scope

	if change() {
		for s := range f.scopes {
			scopes = append(scopes, s)
		}
	}
	f.mu.Unlock()

	for _, s := range scopes {
		s.notify()
	}
}

// deniedPause is the time after which the objects are requested again as a user to whom they were refused. Until then,
// the user's rights have been read again, so that only a user who has them still looks.
const deniedPause = 5 * time.Second

// holder returns a user who looks: the last one, if that user still does. It returns nil if there is none.
func (f *feed) holder(last *session.User) *session.User {
	f.mu.Lock()
	defer f.mu.Unlock()

	usable := func(user *session.User) bool {
		return f.holders[user] > 0 && !user.Over() && time.Since(f.denied[user]) >= deniedPause
	}
	if usable(last) {
		return last
	}

	for user := range f.holders {
		if usable(user) {
			return user
		}
	}
	return nil
}

// run keeps the rows up to date until the context ends.
func (f *feed) run(ctx context.Context) {
	var user *session.User

	version, pause := "", firstPause // version is that from which the watch continues; empty: the list is read first
	for ctx.Err() == nil {
		user = f.holder(user)
		if user == nil {
			f.wait(ctx, time.Second)
			continue
		}

		next, reached, err := f.followAs(ctx, user, version)
		if ctx.Err() != nil {
			return
		}

		if version = next; reached {
			pause = firstPause
		}

		switch {
		case user.Over():
			continue
		case exit.NoDefinition(err):
			f.change(func() bool { f.rows = map[string]*table.Row{}; f.confirm(); return true })
			f.wait(ctx, undefinedPause)

			continue
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			f.deny(user)
			f.rejected(user, apierrors.IsUnauthorized(err))

			continue
		case errors.Is(err, errExpired):
		case err != nil:
			f.fail(bounds.Line(user.Client.Explain(err).Error()))
		}

		f.wait(ctx, pause+rand.N(pause))
		pause = min(2*pause, lastPause)
	}
}

// wait waits for a time, or until a user joins a feed without users.
func (f *feed) wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-f.wake:
	}
}

// deny notes that the API server refuses the objects to a user. If all users are refused, the rows are removed, because
// nobody is known to have the right to see them.
func (f *feed) deny(user *session.User) {
	f.change(func() bool {
		f.denied[user] = time.Now()

		for other := range f.holders {
			if _, refused := f.denied[other]; !refused {
				return false
			}
		}

		f.rows = map[string]*table.Row{}
		return true
	})
}

// fail notes why the rows are not live.
func (f *feed) fail(why string) {
	f.change(func() bool { was := f.stale; f.stale = why; return was != why })
}

// confirm notes that the rows are up to date. The caller holds the lock.
func (f *feed) confirm() {
	f.at, f.stale = time.Now(), ""

	select {
	case <-f.loaded:
	default:
		close(f.loaded)
	}
}

// followAs follows the objects with the credentials of a user, at most until the user's last session ends.
func (f *feed) followAs(ctx context.Context, user *session.User, version string) (next string, reached bool, _ error) {
	ctx, cancel := session.Until(ctx, user.Done())
	defer cancel()

	return f.follow(ctx, user, version)
}

// follow lists the objects unless a version is known, and then watches them until that fails or the context ends. It
// returns the version from which another user's watch continues, and whether the API server has answered.
func (f *feed) follow(ctx context.Context, user *session.User, version string) (next string, reached bool, err error) {
	if version == "" {
		rows := map[string]*table.Row{}

		// A list may take long, so it is not cancelled. The page reports meanwhile that it is waiting.
		waits := time.AfterFunc(answerTimeout, func() { f.fail(errSilent.Error()) })
		defer waits.Stop()

		version, err = user.Client.EachOf(ctx, f.kind, kube.Query{Namespace: f.namespace}, func(object client.Object) {
			waits.Reset(answerTimeout)

			row := table.RowOf(object)
			rows[object.GetNamespace()+"/"+object.GetName()] = &row
		})
		if waits.Stop(); err != nil {
			return "", false, err
		}

		f.change(func() bool { f.rows = rows; f.confirm(); return true })
	}

	for ctx.Err() == nil && f.holder(user) == user {
		started := time.Now()

		next, err := f.watch(ctx, user, version)
		switch {
		case err == nil:
			version = next
		case ctx.Err() == nil: // the list is read again
			return "", true, err
		default: // another user's watch continues from this version
			return version, true, err
		}

		if time.Since(started) < time.Second { // an API server that ends each watch at once is not asked in a loop
			f.wait(ctx, time.Second)
		}
	}
	return version, true, nil
}

var (
	// errExpired is the error of a watch whose version is too old: the objects must be listed again.
	errExpired = errors.New("the version of the watch has expired")
	// errSilent is the error of a watch that the API server, or a proxy before it, has not answered.
	errSilent = errors.New("the API server does not answer")
)

// answerTimeout limits how long the API server takes to answer a watch, and how long it takes for a part of a list
// before the page reports it.
const answerTimeout = 5 * time.Second

// watch watches the objects after a version, until the API server ends the watch. It returns the version from which
// another watch continues.
func (f *feed) watch(ctx context.Context, user *session.User, version string) (string, error) {
	options := &client.ListOptions{Namespace: f.namespace, Raw: &metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true}}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	limit := time.AfterFunc(answerTimeout, cancel)

	watcher, err := user.Client.Watch(ctx, f.kind.NewList(), options)
	if err != nil && limit.Stop() {
		return "", exit.WithResource(err, f.kind.FullName())
	}

	if err != nil || !limit.Stop() || isEmpty(watcher) {
		return "", errSilent
	}
	defer watcher.Stop()

	f.change(func() bool { was := f.stale; f.confirm(); return was != "" })

	for {
		select {
		case <-ctx.Done():
			return version, nil
		case event, open := <-watcher.ResultChan():
			if !open {
				return version, nil
			}

			object, ok := event.Object.(client.Object)
			if !ok || event.Type == watch.Error {
				return "", failureOf(event)
			}

			version = object.GetResourceVersion()
			f.apply(event.Type, object)
		}
	}
}

// isEmpty reports whether a watch has ended without an event. client-go returns such a watch in place of an error if a
// connection is closed without an answer, or times out.
func isEmpty(watcher watch.Interface) bool {
	return reflect.TypeOf(watcher) == reflect.TypeOf(watch.NewEmptyWatch())
}

// failureOf returns the error that a watch reports.
func failureOf(event watch.Event) error {
	if err := apierrors.FromObject(event.Object); !apierrors.IsGone(err) && !apierrors.IsResourceExpired(err) {
		return err
	}
	return errExpired
}

// apply applies an event to the rows.
func (f *feed) apply(kind watch.EventType, object client.Object) {
	id := object.GetNamespace() + "/" + object.GetName()

	var row table.Row
	if kind != watch.Bookmark && kind != watch.Deleted {
		row = table.RowOf(object)
	}

	f.change(func() bool {
		f.at = time.Now()

		switch kind {
		case watch.Bookmark:
			return false
		case watch.Deleted:
			delete(f.rows, id)
		default:
			f.rows[id] = &row
		}
		return true
	})
}
