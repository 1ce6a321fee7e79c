package terminal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// TestLiveReplacesThePage checks that on a terminal each page is written over the page before it, line by line, and
// that nothing of a longer page remains. Without a terminal the pages follow each other, without control sequences.
func TestLiveReplacesThePage(t *testing.T) {
	pages := []string{"one\ntwo\nthree\n", "1\n\x1b[31m2\n"}
	for width, want := range map[int]string{
		0:  "one\ntwo\nthree\n1\n\\x1b[31m2\n",
		80: "\x1b[H\x1b[2Jone\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J" + "\x1b[H1\x1b[K\n\\x1b[31m2\x1b[K\n\x1b[J",
	} {
		var out bytes.Buffer
		i := 0

		err := Streams{Out: &out, Err: &out, Width: width}.Safe().Live(t.Context(), true,
			func(context.Context) (string, bool, error) {
				i++
				return pages[i-1], i == len(pages), nil
			})
		if err != nil || out.String() != want {
			t.Errorf("%d columns: %v, %q, want %q", width, err, out.String(), want)
		}
	}
	var out bytes.Buffer

	err := Streams{Out: &out, Err: &out, Width: 80}.Live(t.Context(), false,
		func(context.Context) (string, bool, error) { return "page\n", false, nil })
	if err != nil || out.String() != "page\n" {
		t.Errorf("a page that is shown once: %v, %q", err, out.String())
	}
}

// TestLiveEnds checks that Live ends with the error of a page, and if the context is canceled between two pages.
func TestLiveEnds(t *testing.T) {
	failed := errors.New("no page")
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder

	streams := Streams{Out: &out, Err: &out}
	if err := streams.Live(ctx, true,
		func(context.Context) (string, bool, error) { return "", false, failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}

	err := streams.Live(ctx, true, func(context.Context) (string, bool, error) {
		cancel()
		return "page\n", false, nil
	})
	if !errors.Is(err, context.Canceled) || out.String() != "page\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}
