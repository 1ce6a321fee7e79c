package lifecycle

import (
	"testing"
	"time"
)

// TestQueryInterval checks that the interval is 4 s during the first minute and then grows up to a minute.
func TestQueryInterval(t *testing.T) {
	for _, test := range []struct{ amiss, again time.Duration }{
		{-time.Hour, 4 * time.Second}, {0, 4 * time.Second}, {time.Minute, 4 * time.Second},
		{5 * time.Minute, 20 * time.Second},
		{15 * time.Minute, time.Minute}, {24 * time.Hour, time.Minute},
	} {
		if got := QueryInterval(test.amiss); got != test.again {
			t.Errorf("after a problem of %s the next query is in %s, want %s", test.amiss, got, test.again)
		}
	}
}
