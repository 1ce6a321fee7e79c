package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// statuses are so many writes of an application's status, the last of which says that it ended well.
func statuses(name string, from, n int) string {
	var log strings.Builder
	for i := range n - 1 {
		log.WriteString(told(name, fmt.Sprintf(`{"e":"RUNNING","f%d":"PENDING"}`, i), from+i))
	}
	return log.String() + state(name, "COMPLETED", from+n-1)
}

// TestOutliers: what is past a bar is named with what was written of it, the farthest first, and nothing else is.
func TestOutliers(t *testing.T) {
	late := app("x", 0) + driver("p", "x", 10) + pod("p", "Running", 20, 21) + state("x", "RUNNING", 2022) + pod("p", "Succeeded", 3000, 3001) + state("x", "COMPLETED", 3002)
	for name, tt := range map[string]struct {
		log  string
		want []string // application, why
	}{
		"nothing":                     {"", nil},
		"as much as a life may write": {app("x", 0) + statuses("x", 1, 4) + wrote(10, [3]string{"create events", "x.1", aboutX}), nil},
		"a status too many":           {app("x", 0) + statuses("x", 1, 5), []string{"a/x: 5 status writes and 0 events, one of 1 lives with more than 4 of either"}},
		"an event too many": {
			app("x", 0) + statuses("x", 1, 1) + strings.Repeat(wrote(10, [3]string{"create events", "x.1", aboutX}), 5),
			[]string{"a/x: 1 status writes and 5 events, one of 1 lives with more than 4 of either"},
		},
		"the one with the most first": {
			app("x", 0) + app("y", 0) + app("z", 0) + statuses("x", 1, 5) + statuses("y", 1, 6) + statuses("z", 1, 5),
			[]string{
				"a/y: 6 status writes and 0 events, one of 3 lives with more than 4 of either", "a/x: 5 status writes and 0 events, one of 3 lives with more than 4 of either",
				"a/z: 5 status writes and 0 events, one of 3 lives with more than 4 of either",
			},
		},
		"one that failed":       {app("x", 0) + strings.ReplaceAll(statuses("x", 1, 5), "COMPLETED", "FAILED"), nil},
		"one that began before": {statuses("x", 1, 5), nil},
		"a late status":         {late, []string{"a/x: a status that lags 2.001 s behind the driver, one of 1 applications of which one lags more than 2s"}},
		"a status in time":      {strings.ReplaceAll(late, "02.022", "02.021"), nil},
	} {
		a, err := ReadAccount(strings.NewReader(tt.log), Scope{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range a.Outliers("lives", "operator") {
			got = append(got, o.Application+": "+o.Why)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFewOutliersAreNamed: of hundreds a few are told of, and how many there are.
func TestFewOutliersAreNamed(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		name, pod1 := fmt.Sprintf("x%02d", i), fmt.Sprintf("p%02d", i)
		log.WriteString(app(name, 0) + driver(pod1, name, 1) + pod(pod1, "Running", 2, 3) + statuses(name, 4000, 5))
	}
	a, err := ReadAccount(strings.NewReader(log.String()), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	got := a.Outliers("lives", "operator")
	if len(got) != mostBusy+mostLate || !strings.Contains(got[0].Why, "one of 100 lives") || !strings.Contains(got[mostBusy].Why, "one of 100 applications") {
		t.Errorf("%d are named, the first: %s", len(got), got[0].Why)
	}
}

// TestStory: what nodes say of pods and what the operator makes of it, in the order of the answers, with what was sent and what was refused.
func TestStory(t *testing.T) {
	log := app("x", 1000) + driver("p", "x", 1010) + pod("p", "Running", 1020, 1021) +
		strings.Replace(state("x", "RUNNING", 1022), `"code":200`, `"code":409`, 1) +
		line(operator, "patch", "sparkapplications/status", "x", 200, 1023, 1130, `{"metadata":{"resourceVersion":"1"},"status":{"applicationState":{"state":"RUNNING"}}}`) +
		line(operator, "create", "events", "x.1", 201, 1132, 1133, `{"reason":"SparkDriverRunning","involvedObject":{"kind":"SparkApplication","name":"x"}}`) +
		executorOf("p", "e", 1131) + pod("e", "Running", 1140, 1141) +
		told("x", `{"e":"`+strings.Repeat("X", 2*longest)+`"}`, 1150) + statuses("x", 1160, 4)
	a, err := ReadAccount(strings.NewReader(log), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	got := a.Outliers("lives", "operator")
	want := []figure.Outlier{{
		Scenario: "lives", Case: "operator", Application: "a/x", Why: "6 status writes and 1 events, one of 1 lives with more than 4 of either",
		Story: []string{
			"0.010 s create pods, 201: p",
			"0.021 s driver p: Running",
			`0.022 s patch sparkapplications/status, 409: {"applicationState":{"state":"RUNNING"}}`,
			`0.130 s (answered after 0.107 s) patch sparkapplications/status, 200: {"applicationState":{"state":"RUNNING"}}`,
			"0.131 s executor e: created",
			"0.133 s create events, 201: SparkDriverRunning",
			"0.141 s executor e: Running",
			`0.150 s patch sparkapplications/status, 200: {"executorState":{"e":"` + strings.Repeat("X", longest-len(`{"executorState":{"e":"`)) + "...",
			`0.160 s patch sparkapplications/status, 200: {"executorState":{"e":"RUNNING","f0":"PENDING"}}`,
			`0.161 s patch sparkapplications/status, 200: {"executorState":{"e":"RUNNING","f1":"PENDING"}}`,
			`0.162 s patch sparkapplications/status, 200: {"executorState":{"e":"RUNNING","f2":"PENDING"}}`,
			`0.163 s patch sparkapplications/status, 200: {"applicationState":{"state":"COMPLETED"}}`,
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
