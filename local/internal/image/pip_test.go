package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	sumA = strings.Repeat("a", 64)
	sumB = strings.Repeat("b", 64)
)

func TestParseRequirements(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []requirement
	}{
		{"one", "pyspark==4.1.4 --hash=sha256:" + sumA, []requirement{{"pyspark", "4.1.4", []string{sumA}}}},
		{"comment, blank line, two sums over two lines",
			"# why\n\na-b==1 \\\n  --hash=sha256:" + sumA + " --hash=sha256:" + sumB + " # c\n",
			[]requirement{{"a-b", "1", []string{sumA, sumB}}}},
		{"no sum", "pyspark==4.1.4", nil},
		{"range", "pyspark>=4 --hash=sha256:" + sumA, nil},
		{"short sum", "pyspark==4.1.4 --hash=sha256:abc", nil},
		{"weak sum", "pyspark==4.1.4 --hash=md5:" + sumA, nil},
		{"option", "--index-url http://elsewhere/", nil},
		{"url", "pyspark @ http://elsewhere/x.tar.gz --hash=sha256:" + sumA, nil},
		{"empty", "# nothing\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseRequirements(test.text)
			if (err != nil) != (test.want == nil) {
				t.Fatalf("error %v, want one: %v", err, test.want == nil)
			}

			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(requirement{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParseRequirements checks that every line of accepted requirements is pinned by a checksum, and that the
// requirements stay the same if they are formatted and parsed again.
func FuzzParseRequirements(f *testing.F) {
	f.Add("pyspark==4.1.4 --hash=sha256:" + sumA)
	f.Add("a==1 \\\n --hash=sha256:" + sumB)
	f.Add("#")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseRequirements(text)
		if err != nil {
			return
		}

		var lines []string
		for _, r := range got {
			if len(r.sha256) == 0 {
				t.Errorf("%s is not pinned", r.name)
			}

			lines = append(lines, r.String())
		}

		again, err := parseRequirements(strings.Join(lines, "\n"))
		if err != nil {
			t.Fatalf("its own output is rejected: %v", err)
		}

		if diff := cmp.Diff(got, again, cmp.AllowUnexported(requirement{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSparkVersionsArePinned(t *testing.T) {
	for _, file := range []string{"spark/requirements.txt", "spark/requirements-build.txt"} {
		if _, err := embeddedRequirements(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}

	want := []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"}
	if diff := cmp.Diff(want, SparkVersions()); diff != "" {
		t.Error(diff)
	}

	for _, v := range want {
		if got, err := sparkDistribution(v); err != nil || got.version != v {
			t.Errorf("%s: got %+v, %v", v, got, err)
		}
	}

	if _, err := sparkDistribution("4.1"); err == nil || !strings.Contains(err.Error(), "4.1.4") {
		t.Errorf("an unknown version must be rejected with a list of known versions, got %v", err)
	}
}
