package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sparkoperator/spark-operator/local/internal/kubeapi"
)

// TestAwaitCPUsWaitsForThePolicy checks that the kubelet does not start before the API server applies a new policy. A
// real API server does so up to a second after the policy was created, or at once; only a server of this test delays it
// in each run.
func TestAwaitCPUsWaitsForThePolicy(t *testing.T) {
	var requests int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "dryRun=All" {
			t.Errorf("%s %s would be stored", r.Method, r.URL)
		}

		cpus := 1
		if requests++; requests == 3 {
			cpus = 900
		}

		_, _ = fmt.Fprintf(w, `{"status":{"allocatable":{"cpu":"%d"}}}`, cpus)
	}))
	defer server.Close()

	admin := kubeapi.New(server.URL, nil)
	defer admin.Close()

	if err := awaitCPUs(t.Context(), admin, 900); err != nil || requests != 3 {
		t.Errorf("awaitCPUs() = %v after %d requests, want nil after 3", err, requests)
	}
}
