package stage

import "fmt"

// sizeText returns a number of bytes as a short text in units of 1,000.
func sizeText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}

	value, units := float64(n)/unit, []string{"kB", "MB", "GB"}
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}
