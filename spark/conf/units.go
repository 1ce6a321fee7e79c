package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unit is an amount of memory in bytes.
type Unit int64

// The units of Spark's sizes. All are powers of 1024 (org.apache.spark.network.util.ByteUnit).
const (
	Byte Unit = 1
	KiB  Unit = 1 << 10
	MiB  Unit = 1 << 20
	GiB  Unit = 1 << 30
	TiB  Unit = 1 << 40
	PiB  Unit = 1 << 50
)

var sizeSuffixes = map[string]Unit{
	"b": Byte, "k": KiB, "kb": KiB, "m": MiB, "mb": MiB, "g": GiB, "gb": GiB, "t": TiB, "tb": TiB, "p": PiB, "pb": PiB,
}

var timeSuffixes = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour,
}

// ParseSize parses a Spark size such as "512m" or "2GB" and returns it in bytes. A number without suffix counts
// multiples of unit. Case and blanks around the text do not matter. Fractions, negative numbers and sizes above 2^63-1
// bytes are errors (JavaUtils.byteStringAs). The error quotes text, shortened if it is long.
func ParseSize(text string, unit Unit) (int64, error) {
	return parseSize(text, func() string { return Quote("", text) }, unit)
}

// parseSize implements ParseSize. If text is invalid, the error quotes the result of shown(), not text itself.
func parseSize(text string, shown func() string, unit Unit) (int64, error) {
	digits, suffix := splitNumber(text)
	if suffix != "" {
		var ok bool
		if unit, ok = sizeSuffixes[suffix]; !ok {
			return 0, sizeError(shown())
		}
	}

	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, sizeError(shown())
	}

	if unit > 0 && n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("size %s is too large", shown())
	}
	return n * int64(unit), nil
}

func sizeError(shown string) error {
	return fmt.Errorf("size should be a whole number with a unit (b, k, m, g, t or p), such as 512m or 2g, but is %s", shown)
}

// parseDuration parses a Spark duration such as "30s" or "5min". A number without suffix counts multiples of unit. The
// suffixes are us, ms, s, m or min, h and d; fractions are errors (JavaUtils.timeStringAs). If text is invalid, the
// error quotes the result of shown(), not text itself.
func parseDuration(text string, shown func() string, unit time.Duration) (time.Duration, error) {
	amount, negative := strings.CutPrefix(trim(text), "-")
	digits, suffix := splitNumber(amount)

	wrong := func() error {
		return fmt.Errorf("time should be a whole number with a unit (us, ms, s, m, min, h or d), such as 30s, but is %s", shown())
	}
	if amount != trim(amount) {
		return 0, wrong()
	}

	if suffix != "" {
		var ok bool
		if unit, ok = timeSuffixes[suffix]; !ok {
			return 0, wrong()
		}
	}

	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, wrong()
	}

	if unit > 0 && n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("time %s is too long", shown())
	}

	if negative {
		n = -n
	}
	return time.Duration(n) * unit, nil
}

// splitNumber trims text, converts it to lower case, and separates its leading digits from the rest.
func splitNumber(text string) (digits, suffix string) {
	text = strings.ToLower(trim(text))

	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}
