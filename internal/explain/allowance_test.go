package explain

import (
	"fmt"
	"testing"
	"time"
)

// TestAllowance checks that, after the saved time is used up, all explanations together take at most a tenth of the
// time, and explanations of one namespace at most a twentieth. This limit does not depend on the duration of a request
// or on the number of calls.
func TestAllowance(t *testing.T) {
	t.Parallel()
	const tick, span = 20 * time.Millisecond, time.Minute
	for _, test := range []struct {
		name       string
		took       time.Duration // the duration of each request
		namespaces int
		want       int // allowed requests in a minute, if one is wanted every 20 ms
	}{
		{"of an idle API server", time.Millisecond, 1, 3000},
		{"of one that has much to do", 20 * time.Millisecond, 1, 175},
		{"the same, for many", 20 * time.Millisecond, 5, 350},
		{"of one at its limit", 200 * time.Millisecond, 1, 18},
		{"the same, for many", 200 * time.Millisecond, 5, 35},
		{"of one that does not answer", timeout, 1, 2},
	} {
		var a Allowance
		made := 0
		for i := range int(span / tick) {
			if done, may := a.take(fmt.Sprint(i%test.namespaces), noon.Add(time.Duration(i)*tick)); may {
				made++
				done(test.took)
			}
		}
		if float64(made) > max(1.05*float64(test.want), float64(test.want+1)) || float64(made) < 0.9*float64(test.want) {
			t.Errorf("%s: %d requests, want about %d", test.name, made, test.want)
		}
		if len(a.namespaces) > test.namespaces {
			t.Errorf("%s: %d namespaces are kept", test.name, len(a.namespaces))
		}
	}
}

// TestAllowanceOfOne checks that a namespace that uses its whole share leaves time for another namespace.
func TestAllowanceOfOne(t *testing.T) {
	t.Parallel()
	var a Allowance
	now := noon
	for range 1000 {
		now = now.Add(10 * time.Millisecond)
		if done, may := a.take("greedy", now); may {
			done(200 * time.Millisecond)
		}
	}
	if _, may := a.take("greedy", now); may {
		t.Error("who has had its part is given more")
	}
	if _, may := a.take("another", now); !may {
		t.Error("another has no part")
	}
	var none *Allowance
	if done, may := none.take("any", now); !may {
		t.Error("without an allowance something is refused")
	} else {
		done(time.Hour)
	}
}

// TestAllowanceSideBySide checks concurrent requests. A request that still runs counts with the duration of the request
// that ended last. If the system clock is set back, the allowance does not grow. If all concurrent requests time out,
// explanations are blocked only briefly.
func TestAllowanceSideBySide(t *testing.T) {
	t.Parallel()
	var a Allowance
	take := func(now time.Time) (under []func(time.Duration)) {
		for i := range 16 {
			if done, may := a.take(fmt.Sprint(i), now); may {
				under = append(under, done)
			}
		}
		return under
	}
	for _, done := range take(noon) {
		done(300 * time.Millisecond)
	}
	at := noon.Add(2 * owedMost * allowedShare)
	under := take(at)
	if len(under) != 4 { // at 300 ms each, the fourth uses up the allowed second
		t.Errorf("%d are under way at a time", len(under))
	}
	for _, done := range under {
		done(time.Millisecond)
	}
	if under = take(at.Add(-time.Hour)); len(under) == 0 {
		t.Error("what took less than expected is not given back")
	}
	for _, done := range under {
		done(timeout)
	}
	if len(take(at.Add(-2*time.Hour))) > 0 {
		t.Error("a clock that was set back gives time")
	}
	if len(take(at.Add(-2*time.Hour+2*owedMost*allowedShare))) == 0 {
		t.Errorf("nothing may be asked %s later", 2*owedMost*allowedShare)
	}
}
