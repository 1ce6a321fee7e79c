package web

import "sync"

// Shares bound what all users hold at the same time of something, such as open streams or bytes of memory, and what one
// of them holds, so that nobody takes all of it. A user who has many tokens is still one user.
type Shares struct {
	most, mostOfUser int64

	mu     sync.Mutex
	all    int64
	ofUser map[string]int64
}

// NewShares returns shares with a bound for all users and one for each user.
func NewShares(most, mostOfUser int64) *Shares {
	return &Shares{most: most, mostOfUser: mostOfUser, ofUser: map[string]int64{}}
}

// Take adds n to what a user holds. It reports false, and adds nothing, if that would be too much.
func (s *Shares) Take(user string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.all+n > s.most || s.ofUser[user]+n > s.mostOfUser {
		return false
	}

	s.all += n
	s.ofUser[user] += n
	return true
}

// Give subtracts n from what a user holds.
func (s *Shares) Give(user string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.all -= n
	if s.ofUser[user] -= n; s.ofUser[user] == 0 {
		delete(s.ofUser, user)
	}
}

// Borrow returns two functions: take, which takes n for a user as Take does, and giveAll, which gives back everything
// that was taken. After giveAll, nothing more can be taken.
func (s *Shares) Borrow(user string) (take func(n int64) bool, giveAll func()) {
	var (
		mu   sync.Mutex
		held int64
		over bool
	)

	take = func(n int64) bool {
		mu.Lock()
		defer mu.Unlock()

		if over || !s.Take(user, n) {
			return false
		}

		held += n
		return true
	}
	giveAll = func() {
		mu.Lock()
		defer mu.Unlock()

		s.Give(user, held)
		held, over = 0, true
	}
	return take, giveAll
}
