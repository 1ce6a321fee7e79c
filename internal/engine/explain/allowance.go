package explain

import (
	"sync"
	"time"
)

const (
	// allowedShare is the divisor that limits the requests for explanations: they may use 1/allowedShare of the time.
	// One namespace may use at most half of that.
	allowedShare = 10
	// allowedMost bounds the unused time that is saved. If time is saved, a few requests may run at once.
	allowedMost = time.Second
	// owedMost bounds the owed time. Without this bound, concurrent requests that all timed out would block
	// explanations for minutes.
	owedMost = 2 * allowedMost
)

// Allowance bounds the requests for explanations by the time that the API server takes to answer them. To list the
// Events of one pod, the API server reads all Events of the namespace. An idle API server answers hundreds of such
// requests a second. A busy API server takes a fifth of a second for each request, and an operator that queried every
// pending pod would keep the API server busy.
//
// Requests may use 1/allowedShare of the time on average. Time that is not used is saved, up to allowedMost, so that
// several requests may follow each other without a delay. The zero value begins with allowedMost. A nil Allowance has
// no limits.
//
// Half of what is saved for a namespace is reserved for first questions. Without the reserve, the repeated questions of
// a few applications used up the share of their namespace, and others were never asked about.
type Allowance struct {
	mu         sync.Mutex
	all        account
	namespaces map[string]account // by namespace; only namespaces that owe something
	last       time.Duration      // the duration of the last request, used as the estimate for the next
}

// account holds the owed time: each request adds its duration, and the sum shrinks as time passes (decayed). There is
// an account for each namespace, and one for all namespaces together.
type account struct {
	owed time.Duration
	at   time.Time // the time at which owed was computed
}

// decayed returns the account at a later time. The owed time shrinks by 1/share of the time that has passed.
func (a account) decayed(now time.Time, share time.Duration) account {
	if !a.at.IsZero() {
		a.owed = max(0, a.owed-max(0, now.Sub(a.at))/share)
	}
	return account{a.owed, now}
}

// plus returns the account with a duration added to the owed time. The result is between 0 and owedMost.
func (a account) plus(sum time.Duration) account {
	a.owed = min(max(0, a.owed+sum), owedMost)
	return a
}

// try calls the function send if the Allowance permits a request about the namespace at this moment. It reports whether
// it called the function. The argument first says that the question was never answered.
func (a *Allowance) try(namespace string, first bool, send func()) bool {
	began := time.Now()

	done, may := a.take(namespace, first, began)
	if may {
		send()
		done(time.Since(began))
	}
	return may
}

// take reports whether a request about a namespace is allowed now. If it is, the caller must call the returned function
// with the duration of the request.
func (a *Allowance) take(namespace string, first bool, now time.Time) (done func(took time.Duration), may bool) {
	if a == nil {
		return func(time.Duration) {}, true
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	a.all = a.all.decayed(now, allowedShare)
	account := a.namespaces[namespace].decayed(now, 2*allowedShare)

	expected, limit := a.last, allowedMost/4
	if first {
		limit = allowedMost / 2
	}

	if a.all.owed >= allowedMost || account.owed >= limit {
		a.put(namespace, account)
		return nil, false
	}

	a.all = a.all.plus(expected)
	a.put(namespace, account.plus(expected))
	return func(took time.Duration) {
		a.mu.Lock()
		defer a.mu.Unlock()

		a.last = took
		a.all = a.all.plus(took - expected)
		a.put(namespace, a.namespaces[namespace].plus(took-expected))
	}, true
}

// put stores a namespace's account, and drops the accounts of other namespaces that no longer owe anything.
func (a *Allowance) put(namespace string, current account) {
	if a.namespaces == nil {
		a.namespaces = map[string]account{}
	}

	a.namespaces[namespace] = current
	for name, other := range a.namespaces {
		if other.decayed(current.at, 2*allowedShare).owed == 0 && name != namespace {
			delete(a.namespaces, name)
		}
	}
}
