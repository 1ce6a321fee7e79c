package statuswrite

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.MainShared(m)
}

// staleCache is a cache whose reads return an old state.
type staleCache struct {
	client.Client
	stored []v1beta2.SparkApplication
}

func (r *staleCache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1beta2.SparkApplicationList).Items = r.stored
	return nil
}

// smallPages is a client whose lists have at most two objects in a page.
type smallPages struct{ client.Client }

func (s smallPages) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.Client.List(ctx, list, append(options, client.Limit(2))...)
}

// TestLeaderAwaits checks that a leader waits for the objects that were changed or deleted after the cache read them,
// and for no others, before it decides about them.
func TestLeaderAwaits(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	edit := func(app *v1beta2.SparkApplication) {
		w.Patch(app.Name, `{"metadata":{"annotations":{"edited":"yes"}}}`)
	}
	replace := func(app *v1beta2.SparkApplication) {
		w.Remove(app.DeepCopy())
		w.WaitGone(app)
		w.Application(app.Name)
	}
	tests := map[string]struct {
		meanwhile func(*v1beta2.SparkApplication)
		awaited   bool
	}{
		"same":     {func(*v1beta2.SparkApplication) {}, false},
		"edited":   {edit, true},
		"gone":     {func(app *v1beta2.SparkApplication) { w.Remove(app.DeepCopy()) }, true},
		"replaced": {replace, true},
	}

	cache := &staleCache{Client: w.API}
	for name := range tests {
		cache.stored = append(cache.stored, *w.Application(name))
	}

	for i := range cache.stored {
		tests[cache.stored[i].Name].meanwhile(&cache.stored[i])
	}

	unknown := *w.Application("unknown")
	edit(&unknown)
	var own OwnWrites
	var caught CaughtUp
	term := uint64(1)
	catchUp := func() {
		from := Sources{Cache: cache, Live: smallPages{w.API}, Empty: &v1beta2.SparkApplication{},
			Namespace: metav1.NamespaceAll}
		if err := caught.CatchUp(t.Context(), term, &own, from, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	catchUp()

	if !own.NewerThan(&unknown) {
		t.Error("passes do not wait for an object that the cache lacks")
	}

	for i := range cache.stored {
		name := cache.stored[i].Name
		if got := own.NewerThan(&cache.stored[i]); got != tests[name].awaited {
			t.Errorf("%s: passes wait: %t", name, got)
		}

		if name == "gone" {
			continue
		}

		if read := w.Get(name); own.NewerThan(read) || own.IsEcho(read) {
			t.Errorf("%s: passes wait although they have the newest version, or that version counts as an echo", name)
		}
	}

	read := w.Get("same")
	edit(read.DeepCopy())

	if catchUp(); own.NewerThan(read) {
		t.Error("the leader lists the objects twice in one term")
	}
	term++

	if catchUp(); !own.NewerThan(read) {
		t.Error("in the next term the leader does not list the objects again")
	}
}

// interrupted is a client that calls a function before it lists the objects of a namespace.
type interrupted struct {
	client.Client
	namespace string
	before    func()
}

func (c interrupted) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var into client.ListOptions
	if into.ApplyOptions(options); into.Namespace == c.namespace {
		c.before()
	}
	return c.Client.List(ctx, list, options...)
}

// TestLeaderAwaitsDeletionsBeforeTheList checks an object that is edited and deleted after the leader has read the
// cache and before it lists the live objects. The cache may show the edit before the deletion, and no pass may start
// from it.
func TestLeaderAwaitsDeletionsBeforeTheList(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("gone")
	cache := &staleCache{Client: w.API, stored: []v1beta2.SparkApplication{*app}}
	var edited *v1beta2.SparkApplication
	live := interrupted{w.API, w.Namespace, func() {
		w.Patch(app.Name, `{"metadata":{"annotations":{"edited":"yes"}}}`)
		edited = w.Get(app.Name)
		w.Remove(edited.DeepCopy())
		w.WaitGone(edited)
	}}
	var own OwnWrites
	var caught CaughtUp

	from := Sources{Cache: cache, Live: live, Empty: &v1beta2.SparkApplication{}, Namespace: w.Namespace}
	if err := caught.CatchUp(t.Context(), 1, &own, from, time.Now()); err != nil {
		t.Fatal(err)
	}

	if !own.NewerThan(edited) {
		t.Error("passes do not wait for the deletion if the cache shows the edit before it")
	}
}
