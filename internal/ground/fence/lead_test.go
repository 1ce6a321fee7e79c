package fence

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestLead checks that a leader that wakes after the end of its term sends no request for a pass of that term. It sends
// none even if no timer has fired yet, and none during the next term.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 10 * time.Second
		sent := 0
		transport := Gate(nil)(roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		send := func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}

			response, err := transport.RoundTrip(req)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		lead := &Leadership{}
		terms := func(want uint64) {
			if got := lead.TermNumber(); got != want {
				t.Errorf("there were %d terms, want %d", got, want)
			}
		}

		if _, _, given := lead.Begin(t.Context()); given {
			t.Error("a pass begins before the first term")
		}

		lead.End() // no term has begun
		lead.Extend(time.Now().Add(length))
		pass, done, given := lead.Begin(t.Context())
		defer done()

		if !given {
			t.Fatal("no pass begins")
		}

		time.Sleep(length / 2)
		lead.Extend(time.Now().Add(length))
		terms(1)
		time.Sleep(length - 1)

		if err := send(pass); err != nil || sent != 1 {
			t.Errorf("%d requests were sent within the term, the error is %v", sent, err)
		}

		lead.term.timer.Stop() // as in a process that has just woken
		time.Sleep(time.Nanosecond)

		if err := send(pass); !errors.Is(err, ErrOver) || sent != 1 {
			t.Errorf("after the term %d requests were sent, the error is %v", sent-1, err)
		}

		if _, _, given := lead.Begin(t.Context()); given {
			t.Error("a pass begins after the term")
		}

		lead.Extend(time.Now().Add(length))

		if err := send(pass); !errors.Is(err, ErrOver) || sent != 1 {
			t.Errorf("in the next term %d requests of a pass of the first term were sent, the error is %v", sent-1, err)
		}

		terms(2)

		next, done, given := lead.Begin(t.Context())
		defer done()

		if err := send(next); !given || err != nil || sent != 2 {
			t.Errorf("in the next term a pass begins %t, its request fails with %v", given, err)
		}

		lead.End()
		synctest.Wait()

		if cause := context.Cause(next); !errors.Is(cause, ErrOver) {
			t.Errorf("the end of the term ends its pass with %v", cause)
		}

		if err := send(t.Context()); err != nil || sent != 3 {
			t.Errorf("a request outside of a pass ends with %v", err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
