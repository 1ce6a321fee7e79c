package scenario

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// record is what happened to worlds and steps, in its order.
type record struct{ did []string }

func (r *record) worlds(_ context.Context, s Step) (*world.World, error) {
	r.did = append(r.did, "world for "+s.Name)
	return &world.World{Dir: ""}, nil
}

func (r *record) step(name, in string, err error) Step {
	return Step{Name: name, World: in, Do: func(_ context.Context, _ *world.World, s *Sink) error {
		r.did = append(r.did, name)
		s.Add(figure.Figure{Scenario: name, Value: 1})
		return err
	}}
}

func TestRunSharesWorlds(t *testing.T) {
	var r record
	var s Sink
	bad := errors.New("bad")
	bare := r.step("h", "", nil)
	bare.Bare = true
	err := Run(t.Context(), []Step{
		r.step("a", "x", nil), r.step("b", "x", bad), r.step("c", "x", nil), r.step("d", "x", nil), r.step("e", "", nil), r.step("f", "", nil), r.step("g", "y", nil), bare,
	}, r.worlds, &s, io.Discard)
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "scenario b") {
		t.Errorf("%v", err)
	}
	want := []string{"world for a", "a", "b", "world for c", "c", "d", "world for e", "e", "world for f", "f", "world for g", "g", "h"}
	if diff := cmp.Diff(want, r.did); diff != "" {
		t.Error(diff)
	}
	if len(s.Figures) != 8 {
		t.Errorf("%d figures", len(s.Figures))
	}
	if diff := cmp.Diff([]string{"b"}, s.Failed); diff != "" {
		t.Error(diff)
	}
}

func TestRunIsBounded(t *testing.T) {
	var r record
	var s Sink
	slow := Step{Name: "slow", Limit: time.Millisecond, Do: func(ctx context.Context, _ *world.World, _ *Sink) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	stop := Step{Name: "stop", Do: func(context.Context, *world.World, *Sink) error { cancel(); return nil }}
	err := Run(ctx, []Step{slow, stop, r.step("never", "", nil)}, r.worlds, &s, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "limit of 1ms") {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"world for slow", "world for stop"}, r.did); diff != "" {
		t.Error(diff)
	}
}

func TestPick(t *testing.T) {
	steps := []Step{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for names, want := range map[string]string{"": "a b c", "c a": "a c"} {
		got, err := Pick(steps, strings.Fields(names))
		var have []string
		for _, s := range got {
			have = append(have, s.Name)
		}
		if err != nil || strings.Join(have, " ") != want {
			t.Errorf("%q: %v, %v, want %s", names, have, err, want)
		}
	}
	if _, err := Pick(steps, []string{"d"}); err == nil || !strings.Contains(err.Error(), "a, b, c") {
		t.Error(err)
	}
}

func TestPlans(t *testing.T) {
	for name, steps := range Plans("..") {
		known := map[string]bool{}
		for _, s := range steps {
			if s.Name == "" || s.About == "" || s.Do == nil || known[s.Name] {
				t.Errorf("plan %s: step %q is not whole, or there twice", name, s.Name)
			}
			known[s.Name] = true
		}
	}
	if _, err := Plan("none", ".."); err == nil {
		t.Error("a plan was found that nobody made")
	}
}
