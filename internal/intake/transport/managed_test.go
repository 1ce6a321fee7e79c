package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// unmanagedOf reads a whole body through unmanaged and returns the result.
func unmanagedOf(t testing.TB, in io.Reader) string {
	t.Helper()

	out, err := io.ReadAll(&unmanaged{Closer: io.NopCloser(in), from: in})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestUnmanaged(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"removed in each event": {
			`{"type":"ADDED","object":{"metadata":{"managedFields":[{"manager":"m"},{"manager":"n"}],"name":"a"}}}` + "\n" +
				`{"type":"MODIFIED","object":{"metadata":{"managedFields":[{"manager":"m"}],"name":"a"},"status":{"x":[1]}}}` + "\n",
			`{"type":"ADDED","object":{"metadata":{"managedFields":[],"name":"a"}}}` + "\n" +
				`{"type":"MODIFIED","object":{"metadata":{"managedFields":[],"name":"a"},"status":{"x":[1]}}}` + "\n",
		},
		"managed fields that contain lists, brackets and quotation marks": {
			`{"object":{"metadata":{"managedFields":[{"fieldsV1":{"k:{\"name\":\"]}\"}":[["]"]],"f:\\":{}}}],"name":"a"}}}`,
			`{"object":{"metadata":{"managedFields":[],"name":"a"}}}`,
		},
		"managed fields on several lines": {
			"{ \"object\" : {\n \"metadata\" : { \"managedFields\" : [ { } ] , \"name\" : \"a\" } } }",
			"{ \"object\" : {\n \"metadata\" : { \"managedFields\" : [] , \"name\" : \"a\" } } }",
		},
		"empty":                                 {`{"object":{"metadata":{"managedFields":[]}}}`, `{"object":{"metadata":{"managedFields":[]}}}`},
		"none":                                  {`{"object":{"metadata":{"managedFields":null,"labels":{}}}}`, `{"object":{"metadata":{"managedFields":null,"labels":{}}}}`},
		"a user's field of that name in a spec": {`{"object":{"metadata":{},"spec":{"managedFields":[1]}}}`, `{"object":{"metadata":{},"spec":{"managedFields":[1]}}}`},
		"a user's field of that name, deeper":   {`{"object":{"metadata":{"x":{"managedFields":[1]}}}}`, `{"object":{"metadata":{"x":{"managedFields":[1]}}}}`},
		"a user's field of that name in a template": {`{"object":{"spec":{"metadata":{"managedFields":[1]}}}}`, `{"object":{"spec":{"metadata":{"managedFields":[1]}}}}`},
		"a text that looks like managed fields": {
			`{"object":{"metadata":{"annotations":{"a":"{\"metadata\":{\"managedFields\":[1]}}"}}}}`,
			`{"object":{"metadata":{"annotations":{"a":"{\"metadata\":{\"managedFields\":[1]}}"}}}}`,
		},
		"another key with the same ending": {`{"object":{"metadata":{"unmanagedFields":[1],"managedFieldsX":[2]}}}`, `{"object":{"metadata":{"unmanagedFields":[1],"managedFieldsX":[2]}}}`},
		"a value with that name":           {`{"object":{"metadata":{"name":"managedFields","list":[1]}}}`, `{"object":{"metadata":{"name":"managedFields","list":[1]}}}`},
		"input that is not JSON":           {`]}]}]]]:"`, `]}]}]]]:"`},
	} {
		t.Run(name, func(t *testing.T) {
			for how, reader := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader,
			} {
				if diff := cmp.Diff(test.want, unmanagedOf(t, reader(strings.NewReader(test.in)))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

// TestUnmanagedCut checks that the reader of an interrupted watch first gets all bytes and then the error.
func TestUnmanagedCut(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"object":{"metadata":{"managedFields":[1`), iotest.ErrReader(io.ErrUnexpectedEOF))
	out, err := io.ReadAll(&unmanaged{Closer: io.NopCloser(in), from: in})
	//nolint:errorlint // readers compare with ==
	if got := string(out); err != io.ErrUnexpectedEOF || got != `{"object":{"metadata":{"managedFields":[` {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzUnmanaged checks that valid JSON loses only the elements of managed fields, and that the output for any input is
// not longer than the input.
func FuzzUnmanaged(f *testing.F) {
	for _, seed := range []string{
		`{"type":"ADDED","object":{"metadata":{"managedFields":[{"fieldsV1":{"k:{\"a\":\"]\"}":{}}}],"name":"\\\""}}}`,
		`{"object":{"metadata":{"managedFields":{"a":[1]}}}}`, `[[[["managedFields"]]]]`, `"`, `:`, `]`,
	} {
		f.Add([]byte(seed), byte(3))
	}

	f.Fuzz(func(t *testing.T, in []byte, at byte) {
		split := min(int(at), len(in))

		out := unmanagedOf(t, io.MultiReader(bytes.NewReader(in[:split]), bytes.NewReader(in[split:])))
		if len(out) > len(in) {
			t.Fatalf("%q became %q", in, out)
		}

		var before, after map[string]any
		if json.Unmarshal(in, &before) != nil || strings.Contains(string(in), `\u`) || bytes.Count(in, []byte(`"metadata"`)) > 1 || bytes.Count(in, []byte(`"object"`)) > 1 {
			return // the API server does not escape keys or repeat them
		}

		if err := json.Unmarshal([]byte(out), &after); err != nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}

		if object, _ := before["object"].(map[string]any); object != nil {
			if metadata, _ := object["metadata"].(map[string]any); metadata != nil {
				if _, list := metadata["managedFields"].([]any); list {
					metadata["managedFields"] = []any{}
				}
			}
		}

		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q became %q (-want +got):\n%s", in, out, diff)
		}
	})
}
