package conf

import (
	"math"
	"testing"
)

// TestFormatDouble compares FormatDouble with results of java.lang.Double.toString.
func TestFormatDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 0.1: "0.1", 0.4: "0.4", 1: "1.0", 12.5: "12.5", 0.001: "0.001", 0.00099: "9.9E-4", 1e-5: "1.0E-5", 1234567: "1234567.0",
		1e7: "1.0E7", 12345678: "1.2345678E7", -0.1: "-0.1", math.MaxFloat64: "1.7976931348623157E308",
		math.Inf(1): "Infinity", math.Inf(-1): "-Infinity",
	} {
		if got := FormatDouble(f); got != want {
			t.Errorf("FormatDouble(%v) = %q, want %q", f, got, want)
		}
	}
	if got := FormatDouble(math.NaN()); got != "NaN" {
		t.Errorf("FormatDouble(NaN) = %q", got)
	}
}
