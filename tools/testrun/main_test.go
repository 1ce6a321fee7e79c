package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFollowCounts(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     count
		says     string
	}{
		{"passed and skipped tests are counted", `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"needs root\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Elapsed":1}
`, count{passed: 1, skipped: 1}, "needs root"},
		{"a failed test is counted once and its output printed",
			`{"Action":"output","Package":"p","Test":"A","Output":"got 1\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
`, count{failed: 1}, "got 1"},
		{"a package that does not build counts as a failure", `# p
{"Action":"output","Package":"p","Output":"FAIL p [build failed]\n"}
{"Action":"fail","Package":"p"}
`, count{failed: 1}, "build failed"},
		{"slow tests are listed without their parents",
			`{"Action":"pass","Package":"a.b/p","Test":"A/quick","Elapsed":0.1}
{"Action":"pass","Package":"a.b/p","Test":"A/of its own/slow","Elapsed":7}
{"Action":"pass","Package":"a.b/p","Test":"A/of its own","Elapsed":8}
{"Action":"pass","Package":"a.b/p","Test":"A","Elapsed":9}
{"Action":"pass","Package":"a.b/p","Test":"B","Elapsed":30}
`, count{passed: 5}, "slow   30.0s p B\nslow    7.0s p A/of its own/slow\n"},
		{"a last line without a newline is read", `{"Action":"pass","Package":"p","Test":"A"}`, count{passed: 1}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if got, _ := follow(strings.NewReader(tc.in), &out); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}

			if !strings.Contains(out.String(), tc.says) {
				t.Errorf("printed %q, want %q in it", out.String(), tc.says)
			}
		})
	}
}

// TestReasonsOfFailures checks that what failed tests reported is returned, without their parents and without what they
// logged before.
func TestReasonsOfFailures(t *testing.T) {
	in := `{"Action":"output","Package":"a.b/p","Test":"A/one","Output":"=== RUN   A/one\n"}
{"Action":"output","Package":"a.b/p","Test":"A/one","Output":"W1201 a warning\n"}
{"Action":"output","Package":"a.b/p","Test":"A/one","Output":"    x_test.go:12: got 1\n"}
{"Action":"output","Package":"a.b/p","Test":"A/one","Output":"        want 2\n"}
{"Action":"fail","Package":"a.b/p","Test":"A/one"}
{"Action":"output","Package":"a.b/p","Test":"A/two","Output":"    x_test.go:20: a note\n"}
{"Action":"pass","Package":"a.b/p","Test":"A/two"}
{"Action":"output","Package":"a.b/p","Test":"A","Output":"--- FAIL: A (0.00s)\n"}
{"Action":"fail","Package":"a.b/p","Test":"A"}
{"Action":"fail","Package":"a.b/p"}
`

	_, got := follow(strings.NewReader(in), io.Discard)
	if want := []string{"FAIL p A/one\n    x_test.go:12: got 1\n        want 2\n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReasonKeepsTheEndOfALongReport checks that the end of a program's output is kept, and that a report after it is,
// because a program writes last why it failed.
func TestReasonKeepsTheEndOfALongReport(t *testing.T) {
	output := []string{"    x_test.go:1: up: exit status 1\n"}
	for i := range 30 {
		output = append(output, fmt.Sprintf("        step %d\n", i))
	}

	output = append(output, "        the kubelet is not ready\n", "    x_test.go:2: status\n")

	got := reason(event{Package: "p", Test: "A"}, output)

	want := []string{`FAIL p A
    x_test.go:1: up: exit status 1
        step 0
        step 1
        ...
        step 22
        step 23
        step 24
        step 25
        step 26
        step 27
        step 28
        step 29
        the kubelet is not ready
    x_test.go:2: status
`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reason (-want +got):\n%s", diff)
	}
}

func TestChooseSelectsParts(t *testing.T) {
	all := []part{{name: "a"}, {name: "b"}, {name: "c"}}
	for _, tc := range []struct{ only, skip, want string }{
		{"", "", "abc"}, {"a,c", "", "ac"}, {"", "b", "ac"}, {"a b", "b", "a"},
	} {
		got, err := choose(all, tc.only, tc.skip)
		if err != nil {
			t.Fatal(err)
		}

		var names strings.Builder
		for _, p := range got {
			names.WriteString(p.name)
		}

		if names.String() != tc.want {
			t.Errorf("choose(%q, %q) = %s, want %s", tc.only, tc.skip, names.String(), tc.want)
		}
	}

	if _, err := choose(all, "nope", ""); err == nil {
		t.Error("an unknown part was accepted")
	}
}

func TestBusySince(t *testing.T) {
	before := parseProcessors("cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 2 3 4\n")
	if want := (processors{all: 1000, idle: 850}); before != want {
		t.Errorf("got %+v, want %+v", before, want)
	}

	after := parseProcessors("cpu  150 0 75 820 55 0 0 0 9 9\n")
	if got := after.busySince(before); got != "  75 % busy" {
		t.Errorf("got %q", got)
	}

	if got := parseProcessors("").busySince(processors{}); got != "" {
		t.Errorf("without /proc/stat: %q", got)
	}
}
