package kit

import (
	"errors"
	"net/http"
	"testing"
)

type fails struct{ times int }

func (f *fails) RoundTrip(*http.Request) (*http.Response, error) {
	f.times--
	if f.times >= 0 {
		return nil, errors.New("stream error")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestReadsAreRepeated checks that a read is repeated once, and that a write is not.
func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		method string
		times  int
		works  bool
	}{
		"a read":               {http.MethodGet, 1, true},
		"a read fails twice":   {http.MethodGet, 2, false},
		"a write":              {http.MethodPost, 1, false},
		"a read that succeeds": {http.MethodGet, 0, true},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://example.com", nil)
		if err != nil {
			t.Fatal(err)
		}

		response, err := readAgain{&fails{test.times}}.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}

		if (err == nil) != test.works {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
