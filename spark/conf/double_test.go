package conf

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// TestFormatDouble compares FormatDouble with results of java.lang.Double.toString.
func TestFormatDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 0.1: "0.1", 0.4: "0.4", 1: "1.0", 12.5: "12.5", 0.001: "0.001", 0.00099: "9.9E-4", 1e-5: "1.0E-5",
		1234567: "1234567.0",
		1e7:     "1.0E7", 12345678: "1.2345678E7", -0.1: "-0.1", math.MaxFloat64: "1.7976931348623157E308",
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

// FuzzFormatDouble checks that the text has the form that java.lang.Double.toString documents, and that it is the same
// number.
func FuzzFormatDouble(f *testing.F) {
	plain, scientific := regexp.MustCompile(`^-?[0-9]{1,7}\.[0-9]+$`),
		regexp.MustCompile(`^-?[1-9]\.[0-9]+E(-[1-9][0-9]*|[1-9][0-9]*)$`)

	for _, seed := range []float64{0, math.Copysign(0, -1), 1e-3, 9.999999e-4, 9999999, 1e7, 0.1 + 0.2,
		math.SmallestNonzeroFloat64, -math.MaxFloat64, 1e21} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, number float64) {
		text := FormatDouble(number)
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return
		}

		form, abs := scientific, math.Abs(number)
		if abs == 0 || abs >= 1e-3 && abs < 1e7 {
			form = plain
		}

		if !form.MatchString(text) {
			t.Errorf("%v is %s", number, text)
		}

		if back, err := strconv.ParseFloat(text, 64); err != nil || back != number ||
			math.Signbit(back) != math.Signbit(number) {
			t.Errorf("%v is %s, which is %v, %v", number, text, back, err)
		}
	})
}
