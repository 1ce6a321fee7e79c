package controller

import (
	"sync"
	"time"
)

const (
	// allowedShare is how much of the time, as one in so many, requests may take that are made for an explanation alone.
	allowedShare = 10
	// allowedMost is how much of it is kept for later, so that some may be made at once.
	allowedMost = time.Second
)

// allowance bounds what is asked of an API server that has better things to do, by how long it takes to answer: a list of one pod's Events has it read all Events of
// the namespace. One that is idle answers hundreds of such questions a second, and is asked them; one that is at its limit takes a fifth of a second for each, and an
// operator that went on asking about every pod that waits, because the API server is busy, would be what keeps it busy. The zero value has all that can be kept.
type allowance struct {
	mu   sync.Mutex
	owed time.Duration // of allowedMost
	last time.Duration // how long the last request took, which the next is expected to take
	at   time.Time     // when owed was true
}

// take reports whether a request may be made now. Whoever makes it calls done with how long it took.
func (a *allowance) take(now time.Time) (done func(took time.Duration), may bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.at.IsZero() {
		a.owed = max(0, a.owed-max(0, now.Sub(a.at))/allowedShare)
	}
	a.at = now
	if a.owed >= allowedMost {
		return nil, false
	}
	expected := a.last
	a.owed += expected
	return func(took time.Duration) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.last = took
		a.owed += took - expected
	}, true
}
