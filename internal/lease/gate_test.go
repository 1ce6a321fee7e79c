package lease

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// TestWritesOutsideOfTerms checks for each kind of path, with and without a path in front of it, which requests leave a
// replica that does not lead: those that only read, and those of exempt.
func TestWritesOutsideOfTerms(t *testing.T) {
	lead := &Leadership{}
	transport := Gate(lead)(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))
	leaves := func(method, path string) bool {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://server"+path, http.NoBody)
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
	check := func(leads bool) {
		for path, exempted := range map[string]bool{
			"/api/v1/namespaces/n/events":                                                false,
			"/api/v1/namespaces/n/pods/secrets":                                          false,
			"/api/v1/namespaces/secrets":                                                 false,
			"/api/v1/namespaces/n/secrets":                                               true,
			"/api/v1/namespaces/n/secrets/name":                                          true,
			"/apis/events.k8s.io/v1/namespaces/n/events":                                 false,
			"/apis/apps/v1/namespaces/n/statefulsets/leases":                             false,
			"/apis/spark.apache.org/v1/namespaces/n/sparkapplications/a/status":          false,
			"/apis/coordination.k8s.io/v1/namespaces/n/leases":                           true,
			"/apis/coordination.k8s.io/v1/namespaces/n/leases/lock":                      true,
			"/apis/other.io/v1/namespaces/n/leases/lock":                                 false,
			"/apis/authentication.k8s.io/v1/tokenreviews":                                true,
			"/apis/authorization.k8s.io/v1/subjectaccessreviews":                         true,
			"/apis/authorization.k8s.io/v1/namespaces/n/localsubjectaccessreviews":       false,
			"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/name":   true,
			"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/name": true,
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/name":     false,
			"/": false, "/api": false, "/apis": false, "/apis/apps": false, "/version": false,
		} {
			for _, front := range []string{"", "/k8s/clusters/c-1"} {
				for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
					if got := leaves(method, front+path); got != (exempted || leads) {
						t.Errorf("leading %t, %s %s leaves: %t", leads, method, front+path, got)
					}
				}
				if !leaves(http.MethodGet, front+path) {
					t.Errorf("GET %s does not leave", front+path)
				}
			}
		}
	}
	check(false)
	lead.Extend(time.Now().Add(time.Hour))
	check(true)
	lead.End()
	check(false)
}
