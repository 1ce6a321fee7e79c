package figure

import "testing"

func TestFormat(t *testing.T) {
	for want, got := range map[string]string{
		"0": Format(0, ""), "0 ms": Format(0, "ms"), "4.57 ms": Format(4.567, "ms"), "45.7": Format(45.67, ""), "457": Format(456.7, ""), "4,567 B": Format(4567.2, "B"),
		"0.0457": Format(0.04567, ""), "3 s": Format(3, "s"), "100": Format(100, ""), "1.5e-05 s": Format(0.000015, "s"), "17.5/s": Format(17.5, "1/s"), "-0.5": Format(-0.5, ""), "-1,235": Format(-1234.9, ""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
