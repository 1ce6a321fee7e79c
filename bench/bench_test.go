package main

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCountWrites(t *testing.T) {
	log := strings.Join([]string{
		`{"stage":"RequestReceived","verb":"create","objectRef":{"resource":"pods","namespace":"bench"}}`,
		`{"stage":"ResponseComplete","verb":"create","userAgent":"op","objectRef":{"resource":"pods","namespace":"bench"},"responseStatus":{"code":201}}`,
		`{"stage":"ResponseComplete","verb":"create","userAgent":"op","objectRef":{"resource":"pods","namespace":"bench"},"responseStatus":{"code":409}}`,
		`{"stage":"ResponseComplete","verb":"get","userAgent":"op","objectRef":{"resource":"pods","namespace":"bench"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"patch","userAgent":"op","objectRef":{"resource":"sparkapplications","subresource":"status","namespace":"bench"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"create","userAgent":"other","objectRef":{"resource":"pods","namespace":"bench"},"responseStatus":{"code":201}}`,
		`{"stage":"ResponseCo`,
	}, "\n")
	got, err := countWrites(strings.NewReader(log), func(e auditEvent) bool { return e.UserAgent == "op" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(writes{"create pods": 1, "patch sparkapplications/status": 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSmall runs the whole harness at a size that takes seconds: it holds that every figure is measured, not how large it is.
func TestSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the embedded control plane and /proc need Linux")
	}
	if testing.Short() {
		t.Skip("-short: starts a control plane")
	}
	var out strings.Builder
	err := run(t.Context(), options{apps: 10, clients: 4, runtime: 50 * time.Millisecond, timeout: 4 * time.Minute, root: ".."}, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`applications a second +[1-9][0-9.]* +[1-9]`, `create pods +1\.00`, `create configmaps +[1-9]`, `create services +2\.00`, `delete services +1\.00`,
		`patch sparkapplications/status +[1-9]`, `operator resident, idle +[1-9]`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the report has no %q", want)
		}
	}
}

func TestArrivals(t *testing.T) {
	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	seen := arrivals{runs: map[string]int{}, asked: 4}
	for i, of := range []string{"a", "b", "a"} {
		seen.add(of, due, due.Add(time.Duration(i+1)*time.Second))
	}
	if doubled, lost := seen.faults(); doubled != 1 || lost != 2 || seen.seen() != 3 {
		t.Errorf("%d doubled, %d lost, %d seen", doubled, lost, seen.seen())
	}
	for share, want := range map[float64]time.Duration{0: time.Second, 0.5: 2 * time.Second, 0.99: 3 * time.Second, 1: 3 * time.Second} {
		if got := quantile(seen.late, share); got != want {
			t.Errorf("quantile %v is %s, want %s", share, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing it is %s", got)
	}
}
