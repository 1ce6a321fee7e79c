package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

func TestQuote(t *testing.T) {
	run := &figure.Run{}
	run.Add(figure.Figure{Scenario: "a", Case: "b", Name: "c, d", Value: 25, Unit: "ms"}, figure.Figure{Scenario: "a", Name: "none"})
	for page, want := range map[string]string{
		"no figure": "no figure",
		"It is <!--figure a/b/c, d-->old<!--/figure-->.":                                           "It is <!--figure a/b/c, d-->25 ms<!--/figure-->.",
		"<!--figure a/b/c, d|0.01|cores--><!--/figure-->":                                          "<!--figure a/b/c, d|0.01|cores-->0.25 cores<!--/figure-->",
		"<!--figure a/b/c, d|1000/|1/s-->x<!--/figure--> <!--figure a/b/c, d|2|-->x<!--/figure-->": "<!--figure a/b/c, d|1000/|1/s-->40/s<!--/figure--> <!--figure a/b/c, d|2|-->50<!--/figure-->",
		"<!--figure a/b/x-->9<!--/figure-->":                                                       "<!--figure a/b/x-->" + notThere + "<!--/figure-->",
		"<!--figure a//none|1/|s-->9<!--/figure-->":                                                "<!--figure a//none|1/|s-->" + notThere + "<!--/figure-->",
	} {
		got, err := quote(page, run)
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", page, diff)
		}
		if again, err := quote(got, run); err != nil || again != got {
			t.Errorf("%s: written again it is %s, %v", page, again, err)
		}
	}
	for _, page := range []string{"<!--figure a/b/c, d-->1", "<!--figure a/b/c, d|x|ms-->1<!--/figure-->", "<!--figure a|1-->1<!--/figure-->"} {
		if got, err := quote(page, run); err == nil {
			t.Errorf("%s is taken for %s", page, got)
		}
	}
}

// TestWriteQuotes: a page that quotes figures is written with the page of the figures, its own words stay, and it is stale where they are of another run.
func TestWriteQuotes(t *testing.T) {
	root := repository(t)
	page := filepath.Join(root, "docs", "tuning.md")
	if err := os.WriteFile(page, []byte("Mine: <!--figure lives/operator/operator CPU an application-->1 ms<!--/figure-->.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if stale, err := Stale(root); err != nil || !strings.Contains(strings.Join(stale, " "), "tuning.md") {
		t.Errorf("stale are %v, %v", stale, err)
	}
	if err := Write(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Mine: <!--figure lives/operator/operator CPU an application-->12.3 ms<!--/figure-->.\n", string(text)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if stale, err := Stale(root); err != nil || len(stale) > 0 {
		t.Errorf("stale are %v, %v", stale, err)
	}
}

// TestQuotationsAreDemanded: what a page quotes is of the figures that a full run has to have, so that no place stays empty.
func TestQuotationsAreDemanded(t *testing.T) {
	demanded := demandedOfFull(t)
	for _, name := range quoting {
		text, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range quotation.FindAllStringSubmatch(string(text), -1) {
			if id := place[2]; !demanded[id] {
				t.Errorf("%s quotes %s, which no range of a full run demands", name, id)
			}
		}
	}
}

// demandedOfFull are the figures that ranges of a full run speak of.
func demandedOfFull(t *testing.T) map[string]bool {
	t.Helper()
	spec, err := ranges.Of("full")
	if err != nil {
		t.Fatal(err)
	}
	demanded := map[string]bool{}
	for _, r := range spec.Ranges {
		for _, id := range append(r.IDs(), r.Per) {
			demanded[id] = true
		}
	}
	return demanded
}
