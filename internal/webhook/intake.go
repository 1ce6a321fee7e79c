package webhook

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// errDropped is the error of a request whose client lost its share of a bounded resource.
var errDropped = errors.New("too many clients; try again")

// bound limits how much of a resource the clients hold together. If they hold more than the limit, the address that
// holds most loses its largest share, the oldest one of several.
//
// No address has a limit of its own. The API server may share its address with other clients, because of a proxy or
// address translation. These clients could use up such a limit, and so lock the API server out.
type bound struct {
	limit int

	mu     sync.Mutex
	held   int
	shares []*share // the oldest is first
}

// share is the part of a bounded resource that one client holds. The function drop takes it away from the client.
type share struct {
	*bound
	address string
	drop    func()
	size    int
	dropped bool
}

// grow adds n to a share. It returns an error if the client has lost the share.
func (s *share) grow(n int) error {
	b := s.bound
	b.mu.Lock()
	defer b.mu.Unlock()

	if !s.dropped && n > 0 {
		if s.size == 0 {
			b.shares = append(b.shares, s)
		}

		s.size += n
		b.held += n
	}

	for b.held > b.limit {
		victim := b.heaviest()
		b.remove(victim)
		victim.dropped = true
		victim.drop()
	}

	if s.dropped {
		return errDropped
	}
	return nil
}

// release ends a share that its client has not lost. The bound does not count it anymore.
func (s *share) release() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.remove(s)
}

func (b *bound) remove(s *share) {
	b.held -= s.size
	s.size = 0
	b.shares = slices.DeleteFunc(b.shares, func(other *share) bool { return other == s })
}

func (b *bound) heaviest() *share {
	totals := map[string]int{}
	for _, s := range b.shares {
		totals[s.address] += s.size
	}
	return slices.MaxFunc(b.shares, func(a, other *share) int { // the first one of several
		return cmp.Or(cmp.Compare(totals[a.address], totals[other.address]), cmp.Compare(a.size, other.size))
	})
}

// counted is a reader that adds what it reads to a share.
type counted struct {
	io.Reader
	share *share
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	return n, cmp.Or(c.share.grow(n), err)
}

// slots limits how many requests are answered at the same time. The addresses of waiting clients take turns, so that
// one address with many requests does not delay the others.
type slots struct {
	mu      sync.Mutex
	free    int
	turns   []string // addresses that wait; the first is next
	waiting map[string][]*waiter
}

type waiter struct {
	ctx  context.Context
	turn chan struct{} // closed when the request has its slot
}

func newSlots(n int) *slots { return &slots{free: n, waiting: map[string][]*waiter{}} }

// take waits for a slot. It reports false if ctx ended before.
func (s *slots) take(ctx context.Context, address string) bool {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return true
	}

	w := &waiter{ctx, make(chan struct{})}

	if len(s.waiting[address]) == 0 {
		s.turns = append(s.turns, address)
	}

	s.waiting[address] = append(s.waiting[address], w)
	s.mu.Unlock()

	select {
	case <-w.turn:
		return true
	case <-ctx.Done():
	}

	s.mu.Lock() // give does not decide meanwhile
	defer s.mu.Unlock()

	select {
	case <-w.turn:
		s.next()
	default:
	}
	return false
}

// give passes a slot on to a request of the next address.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.next()
}

func (s *slots) next() {
	for len(s.turns) > 0 {
		address := s.turns[0]
		w := s.waiting[address][0]

		s.turns, s.waiting[address] = s.turns[1:], s.waiting[address][1:]
		if len(s.waiting[address]) > 0 {
			s.turns = append(s.turns, address)
		} else {
			delete(s.waiting, address)
		}

		if w.ctx.Err() == nil {
			close(w.turn)
			return
		}
	}
	s.free++
}

// host returns the address of a client without its port.
func host(address string) string {
	name, _, _ := net.SplitHostPort(address)
	return name
}
