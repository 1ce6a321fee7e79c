package bounds

import "fmt"

// Count returns a number with its noun, such as "1 pod" and "2 pods".
func Count[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
