package controller

import (
	"testing"
	"time"
)

// TestAllowance: what explains takes a tenth of the time once what was kept is used up, however long a request takes and however often it is asked for.
func TestAllowance(t *testing.T) {
	t.Parallel()
	const tick, span = 20 * time.Millisecond, time.Minute
	for _, test := range []struct {
		name string
		took time.Duration // by each request
		want int           // requests in a minute, of one that is wanted each 20 ms
	}{
		{"of an idle API server", time.Millisecond, 3000},
		{"of one that has much to do", 20 * time.Millisecond, 350},
		{"of one at its limit", 200 * time.Millisecond, 35},
		{"of one that does not answer", explainTimeout, 3},
	} {
		var a allowance
		made := 0
		for now := noon; now.Before(noon.Add(span)); now = now.Add(tick) {
			if done, may := a.take(now); may {
				made++
				done(test.took)
			}
		}
		if most := float64(test.want) * 1.05; float64(made) > max(most, float64(test.want+1)) || float64(made) < float64(test.want)*0.9 {
			t.Errorf("%s: %d requests, want about %d", test.name, made, test.want)
		}
	}
}

// TestAllowanceSideBySide: requests that are under way count as what the last one took, so that all workers at once take no more than their share; a clock that is
// set back gives nothing.
func TestAllowanceSideBySide(t *testing.T) {
	t.Parallel()
	var a allowance
	first, may := a.take(noon)
	if !may {
		t.Fatal("the first may not be made")
	}
	first(300 * time.Millisecond)
	var under []func(time.Duration)
	for range 20 {
		if done, may := a.take(noon); may {
			under = append(under, done)
		}
	}
	if len(under) != 3 { // 0.3 s are owed, and each is expected to take as long
		t.Errorf("%d are under way at a time", len(under))
	}
	for _, done := range under {
		done(time.Millisecond)
	}
	if _, may := a.take(noon.Add(-time.Hour)); !may {
		t.Error("what took less than expected is not given back")
	}
	a.owed = allowedMost
	if _, may := a.take(noon.Add(-2 * time.Hour)); may {
		t.Error("a clock that was set back gives time")
	}
}
