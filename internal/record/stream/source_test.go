package stream

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// TestLogsUseHTTP1 checks that logs are read over HTTP/1.1 although the API server prefers HTTP/2. With HTTP/2, the
// client would take the text that is not read yet into memory.
func TestLogsUseHTTP1(t *testing.T) {
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	api.EnableHTTP2 = true
	api.StartTLS()
	t.Cleanup(api.Close)

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})

	source, err := NewAPI(&rest.Config{Host: api.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: "example.com"}}, nil)
	if err != nil {
		t.Fatal(err)
	}

	log, err := source.Open(t.Context(), Request{Pod: types.NamespacedName{Namespace: "jobs", Name: "driver"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()

	if text, err := io.ReadAll(log); err != nil || string(text) != "HTTP/1.1" {
		t.Errorf("the log is read over %s, %v", text, err)
	}
}
