package lifecycle

import (
	"testing"
	"time"
)

func TestSoonest(t *testing.T) {
	for _, test := range [][3]time.Duration{{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {1, 2, 1}, {-1, 5, 5},
		{-1, 0, 0}} {
		if got := Soonest(test[0], test[1]); got != test[2] {
			t.Errorf("Soonest(%d, %d) = %d, want %d", test[0], test[1], got, test[2])
		}
	}
}

func TestRequeueWithin(t *testing.T) {
	for _, test := range [][3]time.Duration{
		{0, time.Minute, time.Minute},
		{time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second},
		{time.Minute, 0, time.Millisecond},
		{0, -time.Minute, time.Millisecond},
	} {
		if got := RequeueWithin(test[0], test[1]); got != test[2] {
			t.Errorf("RequeueWithin(%s, %s) = %s, want %s", test[0], test[1], got, test[2])
		}
	}
}

func TestNotInFuture(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

	past := now.Add(-time.Minute)
	for _, test := range [][2]time.Time{{past, past}, {now, now}, {now.Add(time.Nanosecond), now}, {{}, now}} {
		if got := NotInFuture(test[0], now); !got.Equal(test[1]) {
			t.Errorf("NotInFuture(%s) = %s, want %s", test[0], got, test[1])
		}
	}
}
