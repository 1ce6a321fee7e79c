package world

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestYardstick: a piece of work takes CPU, whoever else is at work; and of those in a span the one in the middle counts.
func TestYardstick(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a thread's CPU is not known")
	}
	y := NewYardstick(time.Millisecond)
	began := time.Now()
	err := Until(t.Context(), "ten pieces of work", func() (bool, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		return len(y.works) >= 10, nil
	})
	y.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if got := y.Between(began, time.Now()); got <= 0 {
		t.Errorf("a piece of work took %s", got)
	}
	for _, w := range y.works {
		if w.at.Before(began) || w.took <= 0 {
			t.Errorf("%+v", w)
		}
	}
}

// TestBetween: what was done outside of a span does not count, its ends do.
func TestBetween(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }
	y := &Yardstick{works: []work{{at(0), 9}, {at(1), 3}, {at(2), 1}, {at(3), 2}, {at(4), 9}}}
	for name, c := range map[string]struct {
		from, to int
		want     time.Duration
	}{
		"all":                {0, 4, 3},
		"without the ends":   {1, 3, 2},
		"two":                {1, 2, 3},
		"one":                {2, 2, 1},
		"none":               {5, 6, 0},
		"a span upside down": {3, 1, 0},
	} {
		if got := y.Between(at(c.from), at(c.to)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (&World{}).Work(at(0), at(4)); got != 0 {
		t.Errorf("a world that never began: %s", got)
	}
}

// TestToil: each piece of work is the same, and is done.
func TestToil(t *testing.T) {
	a, b := make([]uint64, 1000), make([]uint64, 1000)
	toil(a)
	toil(b)
	toil(b)
	if !slices.Equal(a, b) {
		t.Error("two pieces of work differ")
	}
	if !slices.IsSorted(a) || a[0] == a[len(a)-1] {
		t.Error("nothing was sorted")
	}
}
