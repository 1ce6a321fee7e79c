package record

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Server is the API server for a spark-submit that is recorded. It stores all writes in order, and the latest object at
// each path. Its responses resemble those of a real API server as far as spark-submit depends on them. It treats all
// kinds alike, validates nothing and needs no credentials. The zero value is ready for use.
type Server struct {
	mu      sync.Mutex
	writes  []Request
	objects map[string]map[string]any // keyed by path
	uids    int
	err     error
}

// Take returns the writes since the last call. It then clears the server, which deletes these writes and all objects.
// It returns an error if the server could not decode a write.
func (s *Server) Take() ([]Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	writes, err := s.writes, s.err
	s.writes, s.objects, s.uids, s.err = nil, nil, 0, nil
	return writes, err
}

// ServeHTTP answers one request. It ends watches immediately, because it never sends events.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()

	name := strings.TrimSuffix(r.URL.Path, "/")
	switch r.Method {
	case http.MethodGet:
		object, ok := s.objects[name]
		switch {
		case r.URL.Query().Get("watch") == "true":
			w.WriteHeader(http.StatusOK)
		case ok:
			answer(w, http.StatusOK, object)
		default:
			refuse(w, http.StatusNotFound, "NotFound", "nothing was written to "+name)
		}
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		object, err := s.write(r, name)
		if err != nil {
			s.err = fmt.Errorf("%s %s: %w", r.Method, name, err)
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}

		status := http.StatusOK
		if r.Method == http.MethodPost {
			status = http.StatusCreated
		}

		answer(w, status, object)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

// write stores a request and returns the stored object with a uid.
func (s *Server) write(r *http.Request, name string) (map[string]any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}

	request := Request{Method: r.Method, Path: name}

	object := map[string]any{}
	if len(body) > 0 {
		// Spark's client sends JSON even if the content type is YAML (for an apply patch).
		request.Body = body
		if err := json.Unmarshal(request.Body, &object); err != nil {
			return nil, err
		}
	}

	s.writes = append(s.writes, request)
	if s.objects == nil {
		s.objects = map[string]map[string]any{}
	}

	if r.Method == http.MethodDelete {
		delete(s.objects, name)
		return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}, nil
	}

	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}

	if r.Method == http.MethodPost {
		name += fmt.Sprint("/", metadata["name"])
	}

	if known, ok := s.objects[name]; ok {
		metadata["uid"] = known["metadata"].(map[string]any)["uid"]
	} else {
		s.uids++
		metadata["uid"] = uid(s.uids)
	}

	s.objects[name] = object
	return object, nil
}

// uid returns the uid that a Server assigns to the n-th object of a case, counted from 1.
func uid(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n) }

func answer(w http.ResponseWriter, status int, object map[string]any) {
	text, err := json.Marshal(object)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // The client may have disconnected.
}

func refuse(w http.ResponseWriter, status int, reason, message string) {
	answer(w, status, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": status,
	})
}
