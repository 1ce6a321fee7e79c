package bounds

import "testing"

// TestCount checks the form of the noun for each number.
func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 pods", 1: "1 pod", 2: "2 pods", 21: "21 pods"} {
		if got := Count(n, "pod"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
