package web

import "testing"

func TestShares(t *testing.T) {
	s := NewShares(10, 6)
	for _, test := range []struct {
		user string
		n    int64
		want bool
	}{
		{"ann", 7, false}, {"ann", 6, true}, {"ann", 1, false}, {"bob", 5, false}, {"bob", 4, true}, {"cy", 1, false},
	} {
		if got := s.Take(test.user, test.n); got != test.want {
			t.Errorf("%s takes %d: %t, want %t", test.user, test.n, got, test.want)
		}
	}

	s.Give("ann", 6)
	s.Give("bob", 4)

	if len(s.ofUser) != 0 || s.all != 0 || !s.Take("cy", 6) {
		t.Errorf("after all was given back, users hold %v of %d", s.ofUser, s.all)
	}
}

// TestBorrow checks that what a request has taken is given back at its end, and that it takes nothing afterwards.
func TestBorrow(t *testing.T) {
	s := NewShares(10, 6)

	take, giveAll := s.Borrow("ann")
	if !take(4) || take(3) || !take(2) || s.all != 6 {
		t.Errorf("%d are held", s.all)
	}

	giveAll()

	if s.all != 0 || take(1) || len(s.ofUser) != 0 {
		t.Errorf("after the end, %d are held", s.all)
	}
}
