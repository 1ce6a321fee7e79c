package explain

import (
	"sync"
	"time"
)

const (
	// allowedShare is how much of the time, as one in so many, requests may take that are made for an explanation alone. Of that a namespace has half at most.
	allowedShare = 10
	// allowedMost is how much of it is kept for later, so that some may be made at once.
	allowedMost = time.Second
	// owedMost is how much may be owed: requests that were made at once, and of which each ran into its timeout, are no reason to ask nothing for minutes.
	owedMost = 2 * allowedMost
)

// Allowance bounds what is asked of an API server that has better things to do, by how long it takes to answer: a list of one pod's Events has it read all Events of
// the namespace. One that is idle answers hundreds of such questions a second, and is asked them; one that is at its limit takes a fifth of a second for each, and an
// operator that went on asking about every pod that waits, because the API server is busy, would be what keeps it busy. The zero value has all that can be kept; nil
// bounds nothing.
type Allowance struct {
	mu   sync.Mutex
	all  account
	of   map[string]account // by namespace; those that owe something
	last time.Duration      // how long the last request took, which the next is expected to take
}

// account is what is owed of allowedMost.
type account struct {
	owed time.Duration
	at   time.Time // when that was true
}

// now is what is still owed, where one part in so many of the time is given.
func (a account) now(now time.Time, share time.Duration) account {
	if !a.at.IsZero() {
		a.owed = max(0, a.owed-max(0, now.Sub(a.at))/share)
	}
	return account{a.owed, now}
}

// with is an account with another sum on it.
func (a account) with(sum time.Duration) account {
	a.owed = min(max(0, a.owed+sum), owedMost)
	return a
}

// ask asks something about a namespace if that may be done now, and reports whether it was.
func (a *Allowance) ask(namespace string, something func()) bool {
	began := time.Now()
	done, may := a.take(namespace, began)
	if may {
		something()
		done(time.Since(began))
	}
	return may
}

// take reports whether a request about a namespace may be made now. Whoever makes it calls done with how long it took.
func (a *Allowance) take(namespace string, now time.Time) (done func(took time.Duration), may bool) {
	if a == nil {
		return func(time.Duration) {}, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = a.all.now(now, allowedShare)
	of := a.of[namespace].now(now, 2*allowedShare)
	expected := a.last
	if a.all.owed >= allowedMost || of.owed >= allowedMost/2 {
		a.put(namespace, of)
		return nil, false
	}
	a.all = a.all.with(expected)
	a.put(namespace, of.with(expected))
	return func(took time.Duration) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.last = took
		a.all = a.all.with(took - expected)
		a.put(namespace, a.of[namespace].with(took-expected))
	}, true
}

// put keeps a namespace's account, and drops those of namespaces that owe nothing any more.
func (a *Allowance) put(namespace string, is account) {
	if a.of == nil {
		a.of = map[string]account{}
	}
	a.of[namespace] = is
	for name, other := range a.of {
		if other.now(is.at, 2*allowedShare).owed == 0 && name != namespace {
			delete(a.of, name)
		}
	}
}
