package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/load"
)

// app is an application in a state.
func app(namespace, name, state string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name}, "status": map[string]any{"applicationState": map[string]any{"state": state}},
	}}
}

func TestEnds(t *testing.T) {
	e := newEnds(load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 2}}})
	for _, event := range []watch.Event{
		{Type: watch.Added, Object: app("other", "a-0", "COMPLETED")},
		{Type: watch.Added, Object: app("n", "b-0", "COMPLETED")}, // of a load before, or another class
		{Type: watch.Added, Object: app("n", "a-2", "COMPLETED")},
		{Type: watch.Modified, Object: app("n", "a-0", "RUNNING")},
		{Type: watch.Modified, Object: app("n", "a-0", "FAILED")},
		{Type: watch.Modified, Object: app("n", "a-0", "FAILED")},
	} {
		e.see(event)
	}
	bad := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if _, err := e.wait(ctx); !errors.Is(err, bad) || !strings.Contains(err.Error(), "1 of 2") {
		t.Error(err)
	}
	before := time.Now()
	e.see(watch.Event{Type: watch.Modified, Object: app("n", "a-1", "COMPLETED")})
	if last, err := e.wait(t.Context()); err != nil || last.Before(before) {
		t.Errorf("%s, %v", last, err)
	}
	if e.failures() != 1 {
		t.Errorf("%d failures", e.failures())
	}
}

func TestEndsSayWhenTheWatchBreaks(t *testing.T) {
	e := newEnds(load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 1}}})
	e.see(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}})
	if _, err := e.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Error(err)
	}
}

func TestEndsFollowsTheNextWatch(t *testing.T) {
	e := newEnds(load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 2}}})
	bad := errors.New("no more")
	first, second := watch.NewFakeWithChanSize(1, false), watch.NewFakeWithChanSize(2, false)
	first.Add(app("n", "a-0", "COMPLETED"))
	first.Stop()
	second.Add(app("n", "a-0", "COMPLETED"))
	second.Add(app("n", "a-1", "COMPLETED"))
	second.Stop()
	left := []watch.Interface{second}
	e.follow(t.Context(), first, func() (watch.Interface, error) {
		if len(left) == 0 {
			return nil, bad
		}
		next := left[0]
		left = left[1:]
		return next, nil
	})
	if _, err := e.wait(t.Context()); err != nil || !errors.Is(e.broken, bad) {
		t.Errorf("%v, broken: %v", err, e.broken)
	}
}

func TestFollowingStopsWhenItHasSeenEnough(t *testing.T) {
	first, second := watch.NewFakeWithChanSize(1, false), watch.NewFakeWithChanSize(2, false)
	first.Add(app("n", "a-0", ""))
	first.Stop() // as the API server ends a watch
	second.Add(app("n", "a-0", ""))
	second.Add(app("n", "a-1", ""))
	var seen []string
	err := following(t.Context(), first, func() (watch.Interface, error) { return second, nil }, func(e watch.Event) bool {
		seen = append(seen, nameOf(e.Object.(*unstructured.Unstructured)))
		return seen[len(seen)-1] == "n/a-1"
	})
	if diff := cmp.Diff([]string{"n/a-0", "n/a-0", "n/a-1"}, seen); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if !second.IsStopped() {
		t.Error("the watch is left open")
	}
	bad := errors.New("bad")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	err = following(ctx, first, func() (watch.Interface, error) { t.Error("opened after the end"); return nil, nil }, func(watch.Event) bool { return false })
	if !errors.Is(err, bad) {
		t.Error(err)
	}
}

func TestFailing(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 1: 5} {
		spec := load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 5, Fail: share}}}
		if got := failing(spec); got != want {
			t.Errorf("of a share of %v %d fail, want %d", share, got, want)
		}
	}
	e := newEnds(load.Spec{})
	if err := e.held(load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 5, Fail: 1}}}); err == nil {
		t.Error("applications that do not fail as they should pass")
	}
}
