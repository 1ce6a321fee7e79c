package kubeapi

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestClientReadsAndCreatesObjects(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)

		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		switch r.URL.Path {
		case "/there":
			w.WriteHeader(http.StatusConflict)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, strings.Repeat("no ", 1000))
		case "/broken":
			_, _ = io.WriteString(w, "{")
		default:
			_, _ = io.WriteString(w, `{"a":1}`)
		}
	}))
	defer server.Close()

	c := New(server.URL, nil)
	defer c.Close()

	var out struct{ A int }
	if err := c.Get(t.Context(), "/x", &out); err != nil || out.A != 1 {
		t.Errorf("Get() = %v, read %+v", err, out)
	}

	if err := c.Create(t.Context(), "/new", map[string]int{"b": 2}); err != nil {
		t.Errorf("Create() = %v", err)
	}

	if err := c.Create(t.Context(), "/there", nil); err != nil {
		t.Errorf("what is there already is an error: %v", err)
	}

	err := c.Create(t.Context(), "/forbidden", nil)

	status, ok := errors.AsType[*StatusError](err)
	if !ok || status.Code != http.StatusForbidden || len(status.Body) > 500 {
		t.Errorf("Create() = %v", err)
	}

	if err := c.Get(t.Context(), "/broken", &out); err == nil {
		t.Error("half an answer was read")
	}

	if got[1] != `POST /new {"b":2}` {
		t.Errorf("sent %q", got[1])
	}

	out.A = 0
	if err := c.DryRun(t.Context(), "/new", map[string]int{"b": 2}, &out); err != nil || out.A != 1 {
		t.Errorf("DryRun() = %v, read %+v", err, out)
	}

	if last := got[len(got)-1]; last != `POST /new?dryRun=All {"b":2}` {
		t.Errorf("sent %q", last)
	}

	server.Close()

	if err := c.Get(t.Context(), "/x", nil); err == nil {
		t.Error("a server that is gone answered")
	}
}
