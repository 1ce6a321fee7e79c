package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

func TestLaunched(t *testing.T) {
	app := func(name string, at int) string {
		return line(LoadAgent, "create", "sparkapplications", name, 201, at-1, at, `{"kind":"SparkApplication"}`)
	}
	driver := func(name string, attempt, at int) string {
		return line(operator, "create", "pods", fmt.Sprintf("%s-%d", name, attempt), 201, at-1, at,
			`{"metadata":{"labels":{"spark-role":"driver"},"ownerReferences":[{"kind":"SparkApplication","name":"`+name+`","uid":"u"}]}}`)
	}
	for name, tt := range map[string]struct {
		log  string
		want time.Duration
		rate float64
	}{
		"nothing":                           {"", 0, 0},
		"the first to the last":             {app("x", 100) + app("y", 200) + driver("y", 1, 300) + driver("x", 1, 600), 500 * time.Millisecond, 4},
		"a second attempt is no launch":     {app("x", 100) + driver("x", 1, 300) + driver("x", 2, 900), 200 * time.Millisecond, 5},
		"one without a driver says nothing": {app("w", 0) + app("x", 100) + driver("x", 1, 300), 200 * time.Millisecond, 5},
	} {
		lags, err := ReadLags(strings.NewReader(tt.log), Scope{})
		if err != nil {
			t.Fatal(err)
		}
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
