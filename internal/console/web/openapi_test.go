package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
)

// TestMethodsOfOnePath checks that the description has all methods of a path, in whichever order they are registered.
// The last one once replaced the others.
func TestMethodsOfOnePath(t *testing.T) {
	t.Parallel()

	type in struct{ Wanted int }

	type out struct{ Found int }

	read := func(*Request) (out, error) { return out{}, nil }
	show := func(model.Page, out) templ.Component { return templ.NopComponent }
	change := func(*Request, in) (out, error) { return out{}, nil }

	s := New(Options{Sessions: session.New(session.Options{})})
	Page(s, Route{Path: "/a/{name}", Title: "A", Summary: "Reads."}, read, show)
	Post(s, Route{API: "/a/{name}", Title: "A", Summary: "Changes."}, change)
	Post(s, Route{API: "/b", Title: "B", Summary: "Changes."}, change)
	Page(s, Route{Path: "/b", Title: "B", Summary: "Reads."}, read, show)

	for _, path := range []string{"/api/v1/a/{name}", "/api/v1/b"} {
		operations := s.api.Paths[path]
		for method, want := range map[string]string{http.MethodGet: "Reads.", http.MethodPost: "Changes."} {
			if got := operations[strings.ToLower(method)]["summary"]; got != want {
				t.Errorf("%s %s: %v, want %s", method, path, got, want)
			}
		}
	}
}
