package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// busyFor are processes of which each takes so much of a core for so long, and next to nothing from then on.
func busyFor(long time.Duration, cores map[string]float64) func() (map[string]world.Usage, error) {
	began := time.Now()
	return func() (map[string]world.Usage, error) {
		all := map[string]world.Usage{}
		for who, share := range cores {
			at := time.Since(began)
			all[who] = world.Usage{CPU: time.Duration(share*float64(min(at, long))) + at/100}
		}
		return all, nil
	}
}

func TestCalmOf(t *testing.T) {
	for name, tc := range map[string]struct {
		long  time.Duration
		cores map[string]float64
		least time.Duration
		says  []string
	}{
		"calm at once":                    {0, map[string]float64{"etcd": 1, "kube-apiserver": 1}, calmSpan, nil},
		"calm after a while":              {time.Minute, map[string]float64{"etcd": 0, "kube-apiserver": 0.5}, time.Minute + calmSpan, nil},
		"each a little is too much":       {time.Minute, map[string]float64{"a": 0.04, "b": 0.04, "c": 0.04}, time.Minute, nil},
		"never, and who it is that works": {time.Hour, map[string]float64{"etcd": 0.2, "kube-controller-manager": 0.5}, calmLimit, []string{"kube-controller-manager takes 51 % of a core, etcd takes 21 %"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := calmOf(t.Context(), busyFor(tc.long, tc.cores))
				if took := time.Since(began); took < tc.least || took > tc.least+2*calmSpan {
					t.Errorf("it took %s, want %s", took, tc.least)
				}
				if errors.Is(err, errBusy) != (tc.says != nil) {
					t.Fatal(err)
				}
				for _, want := range tc.says {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v, want %q in it", err, want)
					}
				}
			})
		})
	}
}

func TestCalmOfEnds(t *testing.T) {
	bad := errors.New("bad")
	if err := calmOf(t.Context(), func() (map[string]world.Usage, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if err := calmOf(ctx, busyFor(time.Hour, map[string]float64{"etcd": 1})); !errors.Is(err, bad) {
		t.Error(err)
	}
}

// worker is a process that takes a core for so long.
type worker struct {
	began time.Time
	long  time.Duration
}

func (w worker) Usage() (world.Usage, error) {
	return world.Usage{CPU: min(time.Since(w.began), w.long)}, nil
}

func TestSettleIfEver(t *testing.T) {
	for name, tc := range map[string]struct {
		busy, took time.Duration
		quiet      bool
	}{
		"quiet at once":      {0, time.Second, true},
		"quiet in a while":   {20 * time.Second, 21 * time.Second, true},
		"not quiet in time":  {time.Hour, quietLimit, false},
		"quiet but not long": {quietLimit - time.Second/2, quietLimit, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, quiet, err := settleIfEver(t.Context(), time.Second, worker{began, tc.busy})
				if took := time.Since(began); err != nil || quiet != tc.quiet || (took-tc.took).Abs() > 100*time.Millisecond {
					t.Errorf("quiet: %v after %s, want %v after %s; %v", quiet, took, tc.quiet, tc.took, err)
				}
			})
		})
	}
	bad := errors.New("bad")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if _, quiet, err := settleIfEver(ctx, time.Second, worker{time.Now(), time.Hour}); quiet || !errors.Is(err, bad) {
		t.Errorf("%v, %v", quiet, err)
	}
}
