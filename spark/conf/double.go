package conf

import (
	"math"
	"strconv"
	"strings"
)

// FormatDouble formats a number like java.lang.Double.toString: always with a fraction, and with an exponent if the
// number is below 1e-3 or at least 1e7. Numbers that are not finite have the names that Java gives them.
func FormatDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}

	if abs := math.Abs(f); f != 0 && (abs < 1e-3 || abs >= 1e7) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}

		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}

	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
