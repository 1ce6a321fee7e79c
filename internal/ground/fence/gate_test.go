package fence

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestWritesOutsideOfTerms checks for each method which requests leave a replica that does not lead: those that only
// read, and those whose context comes from Unfenced, whatever their path is. Secrets of passes are written like other
// objects, so no path is exempt.
func TestWritesOutsideOfTerms(t *testing.T) {
	lead := &Leadership{}
	transport := Gate(lead)(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	leaves := func(ctx context.Context, method, path string) bool {
		req, err := http.NewRequestWithContext(ctx, method, "https://server"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		response, err := transport.RoundTrip(req)
		if err == nil {
			_ = response.Body.Close()
		} else if !errors.Is(err, ErrOver) {
			t.Fatal(err)
		}
		return err == nil
	}
	check := func(leads, reads bool) {
		for _, path := range []string{
			"/api/v1/namespaces/n/secrets", "/api/v1/namespaces/n/secrets/name", "/api/v1/namespaces/n/events",
			"/k8s/clusters/c-1/api/v1/namespaces/n/secrets",
			"/apis/spark.apache.org/v1/namespaces/n/sparkapplications/a/status",
			"/apis/coordination.k8s.io/v1/namespaces/n/leases/lock",
			"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/name",
			"/apis/authentication.k8s.io/v1/tokenreviews", "/",
		} {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if got := leaves(t.Context(), method, path); got != leads {
					t.Errorf("leading %t, %s %s leaves: %t", leads, method, path, got)
				}

				if !leaves(Unfenced(t.Context()), method, path) {
					t.Errorf("leading %t, %s %s does not leave with a context of Unfenced", leads, method, path)
				}
			}

			if got := leaves(t.Context(), http.MethodGet, path); got != reads {
				t.Errorf("leading %t, GET %s leaves: %t", leads, path, got)
			}

			if !leaves(Unfenced(t.Context()), http.MethodGet, path) {
				t.Errorf("leading %t, GET %s does not leave with a context of Unfenced", leads, path)
			}
		}
	}
	check(false, true) // a replica that has never led keeps its caches
	lead.Extend(time.Now().Add(time.Hour))
	check(true, true)

	pass, done, _ := lead.Begin(t.Context())
	defer done()

	lead.End()
	check(false, false)

	if leaves(pass, http.MethodPost, "/api/v1/namespaces/n/secrets") || leaves(pass, http.MethodGet, "/") {
		t.Error("a request of a pass leaves after the term")
	}
}

// TestFirstTermBeginsDuringBegin checks passes that begin at the same time as the first term.
func TestFirstTermBeginsDuringBegin(t *testing.T) {
	for range 3000 {
		lead := &Leadership{}
		var extended sync.WaitGroup
		extended.Go(func() { lead.Extend(time.Now().Add(time.Hour)) })

		for leads := false; !leads; {
			var done func()
			_, done, leads = lead.Begin(t.Context())
			done()
		}

		extended.Wait()
		lead.End()
	}
}
