package transport

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// worked is a Work that records its calls.
type worked struct{ notes []string }

func (w *worked) Begin() { w.notes = append(w.notes, "begin") }
func (w *worked) End()   { w.notes = append(w.notes, "end") }
func (w *worked) Drop()  { w.notes = append(w.notes, "drop") }

// answering is a transport that answers each request with a body in two parts.
type answering struct{ status int }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader("one"), strings.NewReader("two"))
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

// TestWork checks when Work begins and ends. The Work of a watch begins when a read returns bytes and ends at the next
// read. The Work of a list begins when its body is closed.
func TestWork(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, query string
		status      int
		list        bool
		want        []string
	}{
		{"a watch", "?watch=true", http.StatusOK, false,
			[]string{"watch /apis/x/pods", "end", "begin", "end", "begin", "end", "drop"}},
		{"a watch that is rejected", "?watch=true", http.StatusForbidden, false, nil},
		{"a list", "", http.StatusOK, true, []string{"end", "begin"}},
		{"a list that is rejected", "", http.StatusForbidden, true, []string{"end"}},
		{"a request without a Work", "", http.StatusOK, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			work := &worked{}
			r := &router{pods: answering{test.status}, others: answering{test.status}, decode: func(path string) Work {
				work.notes = append(work.notes, "watch "+strings.TrimPrefix(path, "a watch of "))
				return work
			}}

			ctx := t.Context()
			if test.list {
				ctx = WithWork(ctx, work)
			}

			fetch(ctx, t, r, "http://host/apis/x/pods"+test.query)

			if !slices.Equal(work.notes, test.want) {
				t.Errorf("%v, want %v", work.notes, test.want)
			}
		})
	}
}

func fetch(ctx context.Context, t *testing.T, r *router, url string) {
	t.Helper()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	response, err := r.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}

	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}
