package terminal

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestTableFitsTheTerminal checks that a table leaves out columns, and then cuts cells, until it fits the terminal.
func TestTableFitsTheTerminal(t *testing.T) {
	table := Table{
		Columns: []Column{{Header: "NAMESPACE", Drop: 2}, {Header: "NAME"}, {Header: "STATE"},
			{Header: "AGE", Drop: 1}},
		Rows: [][]string{{"analytics", "daily-report-of-all-customers-20260102", "RUNNING", "2m"},
			{"default", "pi", "COMPLETED", "3h"}},
	}
	for width, want := range map[int]string{
		0: "NAMESPACE   NAME                                     STATE       AGE\n" +
			"analytics   daily-report-of-all-customers-20260102   RUNNING     2m\n" +
			"default     pi                                       COMPLETED   3h\n",
		60: "NAME                                     STATE       AGE\n" +
			"daily-report-of-all-customers-20260102   RUNNING     2m\n" +
			"pi                                       COMPLETED   3h\n",
		40: "NAME                         STATE\n" +
			"daily-report-..ers-20260102  RUNNING\n" +
			"pi                           COMPLETED\n",
	} {
		want = strings.ReplaceAll(want, "ers-20260102  R", "ers-20260102   R")

		got := table.String(width)
		if width == 40 {
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > width {
					t.Errorf("width %d: %q has %d columns", width, line, n)
				}
			}

			if !strings.Contains(got, "..") || strings.Contains(got, "AGE") {
				t.Errorf("width %d:\n%s", width, got)
			}
			continue
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// TestLaterRowsStandBelowTheOthers checks that a row has the columns of the table before it, and fits the terminal.
func TestLaterRowsStandBelowTheOthers(t *testing.T) {
	table := Table{
		Columns: []Column{{Header: "NAME"}, {Header: "STATE"}, {Header: "EXECUTORS", Drop: 2},
			{Header: "AGE", Drop: 1}},
		Rows: [][]string{{"first-pi", "RUNNING", "1", "5s"}},
	}

	const want = "NAME       STATE     EXECUTORS   AGE\n" +
		"first-pi   RUNNING   1           5s\n"
	if got := table.String(40); got != want {
		t.Errorf("%q", got)
	}

	layout := table.Layout(40)
	for _, test := range []struct{ state, want string }{
		{"FAILED", "first-pi   FAILED    2           12s\n"},
		{"SUSPENDED", "first-pi   SUSPENDED   2           12s\n"},
		{"RUNNING", "first-pi   RUNNING     2           12s\n"},
		{"PENDING_RERUN", "first-pi   PEND..RERUN   2           12s\n"},
	} {
		if got := layout.Line([]string{"first-pi", test.state, "2", "12s"}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	const text = "The driver pod waits for a node with enough memory."
	if got := Wrap("why: ", text, 0); got != "why: "+text {
		t.Errorf("%q", got)
	}

	want := "why: The driver pod waits for\n     a node with enough\n     memory."
	if diff := cmp.Diff(want, Wrap("why: ", text, 30)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTextsHaveAWidth checks that a column of texts is never wider than its maximum, and that on a narrow terminal it
// is cut before other columns are left out.
func TestTextsHaveAWidth(t *testing.T) {
	table := Table{
		Columns: []Column{{Header: "NAME"}, {Header: "POD", Drop: 2}, {Header: "MESSAGE", Drop: 1, Max: 80}},
		Rows: [][]string{{"first-pi", "first-pi-driver", strings.Repeat("word ", 60)},
			{"second", "second-driver", "short"}},
	}
	for width := range 200 {
		text := table.String(width)
		layout := table.Layout(width)

		text += layout.Line([]string{"third", "third-driver", strings.Repeat("more ", 60)})
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > 80+len("first-pi")+len("first-pi-driver")+2*len(gap) ||
				width >= minText && n > width {
				t.Errorf("%d columns: a line has %d: %q", width, n, line)
			}
		}

		if has := strings.Contains(text, "MESSAGE"); has != (width == 0 || width >= len("first-pi")+len(gap)+minText) {
			t.Errorf("%d columns:\n%s", width, text)
		}

		if width == 80 && !strings.Contains(text, "first-pi-driver") {
			t.Errorf("%d columns: another column is left out before the text is cut:\n%s", width, text)
		}
	}
}

// TestWords checks that a pasted command has the words that a shell would pass to the program, and that what only a
// shell can do is refused.
func TestWords(t *testing.T) {
	for _, words := range [][]string{{"a"}, {"it's", `"quoted"`, "", " blank ", `back\slash`, "$HOME", "a;b|c&d", "# no comment"}} {
		var line []string
		for _, word := range words {
			line = append(line, Quote(word))
		}

		if got, err := Words(strings.Join(line, "  ")); err != nil || !slices.Equal(got, words) {
			t.Errorf("Words(Quote(%q)) = %q, %v", words, got, err)
		}
	}

	for line, want := range map[string][]string{
		"spark-submit \\\n  --name \"my \\\"app\\\" \\x\" \\\r\n a\\ b 'c\\d'\"e\"\n": {"spark-submit", "--name", `my "app" \x`, "a b", `c\de`},
		"": nil, "   \n ": nil, `a ""`: {"a", ""}, `a\`: {`a\`}, "--conf a=b#c": {"--conf", "a=b#c"},
	} {
		if got, err := Words(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, %v, want %q", line, got, err, want)
		}
	}

	for _, line := range []string{"a $HOME", `a "$HOME"`, "a `id`", `a "`, "a 'b", "a; b", "a | b", "a > b", "a\nb", "a (b)", "a # b", "a $'b'"} {
		if got, err := Words(line); err == nil {
			t.Errorf("Words(%q) = %q, want an error", line, got)
		}
	}
}
