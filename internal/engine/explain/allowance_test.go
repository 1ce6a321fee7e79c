package explain

import (
	"fmt"
	"testing"
	"time"
)

// TestAllowance checks the limits after the saved time is used up. All explanations together may take a tenth of the
// time, and the explanations of one namespace may take a twentieth. The limits must not depend on the duration of a
// request or on the number of calls.
func TestAllowance(t *testing.T) {
	t.Parallel()

	const tick, span = 20 * time.Millisecond, time.Minute
	for _, test := range []struct {
		name       string
		took       time.Duration // the duration of each request
		namespaces int
		want       int // allowed requests in a minute, if one is wanted every 20 ms
	}{
		{"idle API server", time.Millisecond, 1, 3000},
		{"busy API server", 20 * time.Millisecond, 1, 175},
		{"busy API server, many namespaces", 20 * time.Millisecond, 5, 350},
		{"overloaded API server", 200 * time.Millisecond, 1, 18},
		{"overloaded API server, many namespaces", 200 * time.Millisecond, 5, 35},
		{"API server that does not answer", timeout, 1, 2},
	} {
		var a Allowance

		made := 0
		for i := range int(span / tick) {
			if done, may := a.take(fmt.Sprint(i%test.namespaces), true, noon.Add(time.Duration(i)*tick)); may {
				made++

				done(test.took)
			}
		}

		if float64(made) > max(1.05*float64(test.want), float64(test.want+1)) ||
			float64(made) < 0.9*float64(test.want) {
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
		if done, may := a.take("greedy", true, now); may {
			done(200 * time.Millisecond)
		}
	}

	if _, may := a.take("greedy", true, now); may {
		t.Error("a namespace may send requests after it has used its share")
	}

	if _, may := a.take("another", true, now); !may {
		t.Error("another namespace may not send a request")
	}

	var none *Allowance
	if done, may := none.take("any", true, now); !may {
		t.Error("a nil Allowance does not allow a request")
	} else {
		done(time.Hour)
	}
}

// TestAllowanceSideBySide checks concurrent requests. While a request runs, the Allowance assumes that it takes as long
// as the last request that ended. If all concurrent requests time out, explanations must be blocked only briefly. If
// the system clock is set back, the saved time must not grow.
func TestAllowanceSideBySide(t *testing.T) {
	t.Parallel()
	var a Allowance

	take := func(now time.Time) (under []func(time.Duration)) {
		for i := range 16 {
			if done, may := a.take(fmt.Sprint(i), true, now); may {
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
		t.Errorf("%d concurrent requests are allowed, want 4", len(under))
	}

	for _, done := range under {
		done(time.Millisecond)
	}

	if under = take(at.Add(-time.Hour)); len(under) == 0 {
		t.Error("the time that a request did not need is not given back")
	}

	for _, done := range under {
		done(timeout)
	}

	if len(take(at.Add(-2*time.Hour))) > 0 {
		t.Error("a clock that was set back increases the saved time")
	}

	if len(take(at.Add(-2*time.Hour+2*owedMost*allowedShare))) == 0 {
		t.Errorf("no request is allowed %s later", 2*owedMost*allowedShare)
	}
}

// TestAllowanceOfFirstQuestions checks that each application of a namespace is asked about once before the others are
// asked about again and again, although the API server is slow and the applications always ask in the same order.
func TestAllowanceOfFirstQuestions(t *testing.T) {
	t.Parallel()
	const all, took = 7, 150 * time.Millisecond
	var a Allowance
	asked := map[int]bool{}

	now, most := noon, noon.Add(all*took*2*allowedShare)
	for ; len(asked) < all && now.Before(most); now = now.Add(4 * time.Second) {
		for i := range all {
			if done, may := a.take("ns", !asked[i], now); may {
				asked[i] = true

				done(took)
			}
		}
	}

	if len(asked) < all {
		t.Errorf("after %s, only %v were asked about", now.Sub(noon), asked)
	}
}
