package crd

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// decodeLimit bounds the time to decode a probe. Decoding takes microseconds, unless a decoder computes with a value
// such as a huge exponent, which can take hours.
const decodeLimit = 30 * time.Second

// MustDecode fails the test if an accepted object cannot be decoded, exceeds a limit that package bounds sets, or is
// not decoded within decodeLimit. The parameter path names the probed property.
func MustDecode(t testing.TB, path string, decoder runtime.Decoder, object []byte) {
	t.Helper()
	type result struct {
		object runtime.Object
		err    error
	}

	done := make(chan result, 1)
	go func() {
		decoded, _, err := decoder.Decode(object, nil, nil)
		done <- result{decoded, err}
	}()

	late := time.NewTimer(decodeLimit)
	defer late.Stop()

	select {
	case <-late.C:
		t.Fatalf("%s: accepted, but not decoded after %s: %.300s", path, decodeLimit, object)
	case outcome := <-done:
		if outcome.err != nil {
			t.Errorf("%s: accepted, but cannot be decoded: %v", path, outcome.err)
			return
		}

		if fault := reflect.ValueOf(outcome.object).Elem().FieldByName("OutOfBounds").String(); fault != "" {
			t.Errorf("%s: accepted, but decoded without its spec: %s", path, fault)
		}
	}
}
