package nodelog_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
)

const removed = "unable to retrieve container logs for containerd://0123abc"

// TestMessagesOfTheKubelet checks that the messages of a kubelet never count as text of a log, in whatever pieces they
// arrive, and that all other text is passed on unchanged.
func TestMessagesOfTheKubelet(t *testing.T) {
	for _, test := range []struct{ log, text, message string }{
		{"", "", ""},
		{"one\ntwo\n", "one\ntwo\n", ""},
		{"one\nunfinished", "one\nunfinished", ""},
		{removed, "", removed},
		{"one\n" + removed, "one\n", removed},
		{"one\n\n" + removed, "one\n\n", removed},
		{removed + "\n", removed + "\n", ""},
		{removed + "\none\n" + removed, removed + "\none\n", removed},
		{removed + "\n" + removed + "\nunable", removed + "\n" + removed + "\nunable", ""},
		{"a line with " + removed, "a line with " + removed, ""},
		{"unable to retrieve", "unable to retrieve", ""},
		{"f", "f", ""},
		{"one\nunable to find it\n", "one\nunable to find it\n", ""},
		{"2026-01-02T03:04:05Z one\n" + `failed to open log file "/var/log/pods/x/0.log": no such file`, "2026-01-02T03:04:05Z one\n",
			`failed to open log file "/var/log/pods/x/0.log": no such file`},
		{removed + strings.Repeat("x", 8<<10), removed + strings.Repeat("x", 8<<10), ""},
	} {
		for name, in := range map[string]io.Reader{
			"at once": strings.NewReader(test.log), "bytes": iotest.OneByteReader(strings.NewReader(test.log)),
			"halves": iotest.HalfReader(strings.NewReader(test.log)), "end with text": iotest.DataErrReader(strings.NewReader(test.log)),
		} {
			text, err := io.ReadAll(nodelog.Checked(io.NopCloser(in)))
			message := ""

			if found, ok := errors.AsType[*nodelog.Error](err); ok {
				message, err = found.Message, nil
			}

			if string(text) != test.text || message != test.message || err != nil {
				t.Errorf("%q, %s: %q, message %q, %v", test.log, name, text, message, err)
			}
		}
	}
}

// TestBrokenLog checks that a connection that breaks within such a message hides nothing.
func TestBrokenLog(t *testing.T) {
	broken := errors.New("broken")

	in := io.MultiReader(strings.NewReader("one\nunable to retr"), iotest.ErrReader(broken))
	if text, err := io.ReadAll(nodelog.Checked(io.NopCloser(in))); string(text) != "one\nunable to retr" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNodeWithoutTimes checks that a node that does not return the times of lines is an error, and that no text is
// passed.
func TestNodeWithoutTimes(t *testing.T) {
	l := nodelog.After(nodelog.Cursor{})
	if err := l.Copy(strings.NewReader("no time\n"), func([]byte) error { t.Error("text was passed"); return nil }); err == nil {
		t.Error("there is no error")
	}
}

// TestLogBeginsWithinALine checks that the rest of a line at the beginning of a log has no time and is not passed, if
// lines were selected by their times.
func TestLogBeginsWithinALine(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for rest, want := range map[string]string{"": "two\n", "the rest\n": "two\n", strings.Repeat("x", 200<<10) + "\n": "two\n"} {
		var got strings.Builder

		lines := nodelog.After(nodelog.Cursor{Time: at, Lines: 1})

		log := rest + "2026-01-02T03:04:05Z one\n2026-01-02T03:04:06Z two\n"
		if err := lines.Copy(strings.NewReader(log), func(text []byte) error { got.Write(text); return nil }); err != nil || got.String() != want {
			t.Errorf("after %d bytes of a line: %q, %v", len(rest), got.String(), err)
		}
	}

	lines := nodelog.After(nodelog.Cursor{Time: at, Lines: 1})
	if err := lines.Copy(strings.NewReader("no\ntimes\n"), func([]byte) error { return nil }); !errors.Is(err, nodelog.ErrNoTimes) {
		t.Errorf("a log without times: %v", err)
	}
}
