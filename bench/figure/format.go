package figure

import (
	"math"
	"strconv"
	"strings"
)

// Format writes a value with three digits that count, thousands apart, and its unit: "4.57 ms", "17.5/s".
func Format(value float64, unit string) string {
	var text string
	switch size := max(value, -value); {
	case size == 0:
		text = "0"
	case size >= 1000:
		text = Count(int(math.Round(value)))
	case size >= 0.001:
		text = strconv.FormatFloat(value, 'f', decimals(size), 64)
	default:
		text = strconv.FormatFloat(value, 'g', 3, 64)
	}
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if per, is := strings.CutPrefix(unit, "1/"); is {
		return text + "/" + per
	}
	return strings.TrimSpace(text + " " + unit)
}

// decimals are so many that three digits count.
func decimals(size float64) int {
	n := 2
	for ; size >= 10 && n > 0; size /= 10 {
		n--
	}
	for ; size < 1; size *= 10 {
		n++
	}
	return n
}

// Count writes a number with a comma between thousands.
func Count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
