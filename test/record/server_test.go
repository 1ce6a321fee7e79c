package record

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// call sends one request and returns the status and the decoded response.
func call(t *testing.T, s *Server, method, target, contentType, body string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)

	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)

	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}

	var out map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return w.Code, out
}

func uidOf(object map[string]any) any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata["uid"]
}

func TestServerAnswersLikeAnAPIServer(t *testing.T) {
	const pods, maps = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
	var s Server

	steps := []struct {
		about, method, target, kind, body string
		status                            int
		uid                               any
	}{
		{"a missing pod is not found", "GET", pods + "/a", "", "", 404, nil},
		{"a pod is created", "POST", pods, "application/json", `{"kind":"Pod","metadata":{"name":"a"}}`, 201, uid(1)},
		{"the pod is found", "GET", pods + "/a", "", "", 200, uid(1)},
		{"a patch creates an object", "PATCH", maps + "/m?fieldManager=fabric8&force=true",
			"application/apply-patch+yaml",
			`{"metadata":{"name":"m"},"data":{"n":"1"}}`, 200, uid(2)},
		{"another patch keeps the uid", "PATCH", maps + "/m", "application/apply-patch+yaml",
			`{"metadata":{"name":"m"},"data":{"n":"\ud83d\ude00"}}`, 200, uid(2)},
		{"a replacement keeps the uid", "PUT", pods + "/a", "application/json",
			`{"metadata":{"name":"a","uid":"mine"}}`, 200, uid(1)},
		{"a watch ends", "GET", pods + "?watch=true&fieldSelector=metadata.name%3Da", "", "", 200, nil},
		{"the pod is deleted", "DELETE", pods + "/a", "application/json", `{"kind":"DeleteOptions"}`, 200, nil},
		{"the deleted pod is not found", "GET", pods + "/a", "", "", 404, nil},
		{"an unsupported method", "OPTIONS", pods, "", "", 405, nil},
	}
	for _, step := range steps {
		status, answer := call(t, &s, step.method, step.target, step.kind, step.body)
		if status != step.status || uidOf(answer) != step.uid {
			t.Errorf("%s: %d, uid %v; want %d, %v", step.about, status, uidOf(answer), step.status, step.uid)
		}
	}

	got, err := s.Take()
	if err != nil {
		t.Fatal(err)
	}

	want := []Request{
		{Method: "POST", Path: pods, Body: json.RawMessage(`{"kind":"Pod","metadata":{"name":"a"}}`)},
		{Method: "PATCH", Path: maps + "/m", Body: json.RawMessage(`{"metadata":{"name":"m"},"data":{"n":"1"}}`)},
		{Method: "PATCH", Path: maps + "/m",
			Body: json.RawMessage(`{"metadata":{"name":"m"},"data":{"n":"\ud83d\ude00"}}`)},
		{Method: "PUT", Path: pods + "/a", Body: json.RawMessage(`{"metadata":{"name":"a","uid":"mine"}}`)},
		{Method: "DELETE", Path: pods + "/a", Body: json.RawMessage(`{"kind":"DeleteOptions"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTakeClearsTheServer checks that Take isolates cases from each other: a case must not see earlier writes, and its
// objects always get the same uids.
func TestTakeClearsTheServer(t *testing.T) {
	var s Server
	for range 2 {
		if status, answer := call(t, &s, "POST", "/pods", "application/json",
			`{"metadata":{"name":"a"}}`); status != 201 || uidOf(answer) != uid(1) {
			t.Errorf("%d, uid %v", status, uidOf(answer))
		}

		if writes, err := s.Take(); err != nil || len(writes) != 1 {
			t.Errorf("%d writes, %v", len(writes), err)
		}

		if status, _ := call(t, &s, "GET", "/pods/a", "", ""); status != http.StatusNotFound {
			t.Errorf("the object is there still: %d", status)
		}
	}
}

func TestUnknownWriteFailsTheRecording(t *testing.T) {
	for _, body := range []string{"a: b", "[1]", "{\"a\":1,"} {
		var s Server
		if status, _ := call(t, &s, "POST", "/pods", "application/json", body); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", body, status)
		}

		if _, err := s.Take(); err == nil || !strings.Contains(err.Error(), "POST /pods") {
			t.Errorf("%s: error is %v", body, err)
		}

		if _, err := s.Take(); err != nil {
			t.Errorf("%s: the next case fails too: %v", body, err)
		}
	}
}
