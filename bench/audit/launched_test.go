package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

func TestLaunched(t *testing.T) {
	for name, tt := range map[string]struct {
		log  string
		want time.Duration
		rate float64
	}{
		"nothing":                           {"", 0, 0},
		"the first to the last":             {app("x", 100) + app("y", 200) + driver("y-1", "y", 300) + driver("x-1", "x", 600), 500 * time.Millisecond, 4},
		"a second attempt is no launch":     {app("x", 100) + driver("x-1", "x", 300) + driver("x-2", "x", 900), 200 * time.Millisecond, 5},
		"one without a driver says nothing": {app("w", 0) + app("x", 100) + driver("x-1", "x", 300), 200 * time.Millisecond, 5},
	} {
		account, err := ReadAccount(strings.NewReader(tt.log), Scope{})
		if err != nil {
			t.Fatal(err)
		}
		lags := account.Lags
		if lags.Launched != tt.want {
			t.Errorf("%s: %s, want %s", name, lags.Launched, tt.want)
		}
		var rate float64
		for _, f := range lags.Figures("burst", "") {
			if f.Name == figure.Launches {
				rate = f.Value
			}
		}
		if rate != tt.rate {
			t.Errorf("%s: %v a second, want %v", name, rate, tt.rate)
		}
	}
}
