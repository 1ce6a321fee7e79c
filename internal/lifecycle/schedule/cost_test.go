package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestTicksCostLittle checks that the search for the next or the last due time of a schedule is cheap. It tries the
// rarest and the most frequent schedules, over spans that are longer than any downtime of the operator.
func TestTicksCostLittle(t *testing.T) {
	began := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, spec := range []string{"0 0 29 2 *", "59 23 31 12 *", "* * * * *", "1-59/58 */23 31 1,3,5,7,8,10,12 1-5/4", "@every 1s", "@every 876000h", "0 0 30 2,4 ?", "30 2 31 10 *"} {
		for _, zone := range []string{"", "Europe/Vienna", "Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll", "America/Sao_Paulo", "Asia/Tehran"} {
			times, err := Parse(spec, zone, time.LoadLocation)
			if err != nil {
				t.Fatal(err)
			}

			for _, years := range []int{1, 10, 130} {
				until := began.AddDate(years, 0, 0)
				if took := worst.CPU(2, func() { times.Next(began, until); times.Latest(began, began, until) }); took > 50*time.Millisecond {
					t.Errorf("%s in %q over %d years: %v", spec, zone, years, took)
				}
			}
		}
	}
}

// TestHistoriesCostLinearTime checks that the cost of a decision grows linearly with the number of remembered and
// observed runs.
func TestHistoriesCostLinearTime(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	times, err := Parse("@daily", "", time.LoadLocation)
	if err != nil {
		t.Fatal(err)
	}

	worst.Linear(t, "runs that ended", func(n int) func() {
		m := Memory{Since: now, Key: "k"}

		seen := lifecycle.Observed{Confirmed: true}
		for i := range 4 * n {
			name := fmt.Sprintf("nightly-%d", i)
			m.Succeeded = append(m.Succeeded, fmt.Sprintf("other-%d", i))
			seen.Runs = append(seen.Runs, lifecycle.Run{Name: name, Outcome: lifecycle.Succeeded, CreatedAt: now, EndedAt: now})
		}

		want := Schedule{Name: "nightly", UID: "u", Key: "k", Times: times, Successful: 1 << 30, Failed: 1}
		return func() { Step(want, m, seen, now) }
	})
}
