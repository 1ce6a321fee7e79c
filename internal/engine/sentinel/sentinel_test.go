package sentinel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// probed is a set of one sentinel with simulated writes, cache and passes.
type probed struct {
	*Set
	set     Settings
	key     key
	now     time.Time
	writes  int64
	fail    error
	cached  int64
	missing error
	passes  uint64
}

func newProbed() *probed {
	p := &probed{now: time.Unix(1000, 0), set: Settings{Enabled: true, Delay: config.Default().Apache.Sentinels.Delay.Duration}}
	p.Set = New(func() Settings { return p.set }, logr.Discard())
	p.clock = func() time.Time { return p.now }
	p.key = key{"a", types.NamespacedName{Namespace: "b", Name: "c"}}
	p.observe(p.key, "1", 1, probePath{
		write: func(_ context.Context, number int64) (int64, error) {
			if p.fail != nil {
				return 0, p.fail
			}
			p.writes++
			return p.writes + 1, nil
		},
		cached: func(context.Context) (int64, error) { return p.cached, p.missing },
		ended:  func() uint64 { return p.passes },
	})
	return p
}

// TestExemptFromReviews checks which labelled objects the webhook admits without a review. The label alone used to
// suffice, in any namespace and for kinds that have no sentinels.
func TestExemptFromReviews(t *testing.T) {
	for _, test := range []struct {
		name, label, group, namespace string
		enabled                       bool
		own, configured               string
		want                          bool
	}{
		{"a sentinel of the operator", "true", "spark.apache.org", "release", true, "release", "", true},
		{"in the configured namespace", "true", "spark.apache.org", "jobs", true, "release", "jobs", true},
		{"in another namespace", "true", "spark.apache.org", "jobs", true, "release", "", false},
		{"in the release's namespace, if another is configured", "true", "spark.apache.org", "release", true, "release",
			"jobs", false},
		{"while probes are off", "true", "spark.apache.org", "release", false, "release", "", false},
		{"a kind without sentinels", "true", "sparkoperator.k8s.io", "release", true, "release", "", false},
		{"another value of the label", "false", "spark.apache.org", "release", true, "release", "", false},
		{"no label", "", "spark.apache.org", "release", true, "release", "", false},
		{"an operator that does not know its namespace", "true", "spark.apache.org", "jobs", true, "", "", false},
	} {
		cfg := config.Default()
		cfg.Apache.Sentinels.Namespace, cfg.Identity.Namespace = test.configured, test.own
		settings := Settings{Enabled: test.enabled, Namespaces: cfg.SentinelNamespaces()}

		object := &metav1.ObjectMeta{Namespace: test.namespace, Labels: map[string]string{Label: test.label}}
		if got := Exempt(settings, test.group, object); got != test.want {
			t.Errorf("%s: exempt: %t, want %t", test.name, got, test.want)
		}
	}
}

// TestSentinelThatIsLost checks which outstanding writes count as lost, and which do not.
func TestSentinelThatIsLost(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "sparkapplications"}, "c")
	for _, test := range []struct {
		name string
		// then is called between the first and the second ProbeAll, a delay after the first.
		then func(*probed)
		want string
	}{
		{"a pass has read the write", func(p *probed) { p.observe(p.key, "1", 2, probePath{}) }, ""},
		{"the watch is stuck", func(p *probed) { p.cached, p.passes = 1, 100 }, "the watch"},
		{"the queue is stuck", func(p *probed) { p.cached = 2 }, "no pass"},
		{"the operator is busy", func(p *probed) { p.cached, p.passes = 2, 100 }, ""},
		{"the delay is not over", func(p *probed) { p.now = p.now.Add(-time.Second) }, ""},
		{"the sentinel is deleted, and the next write fails", func(p *probed) { p.missing, p.fail = gone, gone }, ""},
		{"the sentinel is deleted, and a pass forgets it", func(p *probed) { p.forget(p.key) }, ""},
		{"the cache is being stopped", func(p *probed) { p.missing = errors.New("stopped") }, ""},
		{"the settings switch the probes off", func(p *probed) { p.set.Enabled = false }, ""},
	} {
		p := newProbed()
		p.ProbeAll(t.Context())

		if err := p.Check(nil); err != nil {
			t.Errorf("%s: after the first ProbeAll: %v", test.name, err)
		}

		p.now = p.now.Add(time.Minute)
		test.then(p)
		p.ProbeAll(t.Context())

		err := p.Check(nil)
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}

		if test.want == "" {
			continue
		}

		p.observe(p.key, "1", 5, probePath{})

		if err := p.Check(nil); err != nil {
			t.Errorf("%s: after a pass has read the write: %v", test.name, err)
		}
	}
}

// TestReplacedSentinel checks that a new object with the name of a deleted sentinel is probed, and that nothing about
// the deleted object counts against it. Passes read the new object before the answer to a write to the deleted object
// arrives.
func TestReplacedSentinel(t *testing.T) {
	for name, seen := range map[string]bool{
		"a pass has seen the deletion": true, "the deletion and the creation are one pass": false,
	} {
		for answer, err := range map[string]error{
			"not found": apierrors.NewNotFound(schema.GroupResource{Resource: "sparkapplications"}, "c"), "written": nil,
		} {
			p, writes, cached := newProbed(), 0, int64(1)
			replacement := probePath{
				write:  func(context.Context, int64) (int64, error) { writes++; return cached, nil },
				cached: func(context.Context) (int64, error) { return cached, nil },
				ended:  func() uint64 { return p.passes },
			}
			deleted := p.known[p.key]
			deleted.write = func(context.Context, int64) (int64, error) {
				if seen {
					p.forget(p.key)
				}

				p.observe(p.key, "2", 1, replacement)
				return 50, err
			}

			p.ProbeAll(t.Context())
			p.now = p.now.Add(time.Hour)
			p.ProbeAll(t.Context())

			if err := p.Check(nil); err != nil || writes != 1 {
				t.Errorf("%s, the answer is %s: %d writes to the new object, %v", name, answer, writes, err)
			}
		}
	}
}

// TestSentinelThatCannotBeWritten checks that failing writes do not make the operator unhealthy, however long they
// fail.
func TestSentinelThatCannotBeWritten(t *testing.T) {
	p := newProbed()

	p.fail = errors.New("the API server is away")
	for range 5 {
		p.ProbeAll(t.Context())
		p.now = p.now.Add(time.Hour)
	}

	if err := p.Check(nil); err != nil || len(p.keys()) != 1 {
		t.Errorf("%v; the known sentinels are %v", err, p.keys())
	}
}

// TestSentinelsAreBounded checks that ProbeAll writes to at most maxWritten sentinels.
func TestSentinelsAreBounded(t *testing.T) {
	p := newProbed()

	entry := p.known[p.key]
	for i := range 10 * maxWritten {
		p.observe(key{"a", types.NamespacedName{Namespace: "z", Name: fmt.Sprint(i)}}, "1", 1, entry.probePath)
	}

	p.ProbeAll(t.Context())

	if p.writes != maxWritten {
		t.Errorf("%d writes, want %d", p.writes, maxWritten)
	}
}

func TestIsSentinel(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "True": false} {
		if got := isSentinel(&metav1.ObjectMeta{Labels: map[string]string{Label: value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// TestOtherNamespaces checks that a sentinel outside of the operator's namespace is not written to, so that users
// cannot affect the operator's health.
func TestOtherNamespaces(t *testing.T) {
	for _, test := range []struct {
		own, named, object string
		want               bool
	}{
		{"", "", "a", true}, {"ops", "", "ops", true}, {"ops", "", "a", false}, {"ops", "a", "a", true},
		{"ops", "a", "ops", false},
	} {
		cfg := config.Default()

		cfg.Identity.Namespace, cfg.Apache.Sentinels.Namespace = test.own, test.named
		if got := New(func() Settings { return Settings{Namespaces: cfg.SentinelNamespaces()} }, logr.Discard()).probes(test.object); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
