package bounds

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity reads a quantity that a user wrote, such as 500m or 2Gi. It rejects a text with more than MaxQuantity
// characters, or with more than MaxExponent digits after e or E. The reason is that resource.ParseQuantity and the
// methods of a quantity take longer for larger exponents. Callers can compare, add and round the result quickly. It may
// exceed an int64, which callers must check with AsInt64. If the text exceeds a limit, the error is a *Fault.
func Quantity(text string) (resource.Quantity, error) {
	if what := quantityFault(text); what != "" {
		return resource.Quantity{}, &Fault{Message: what}
	}
	return resource.ParseQuantity(text)
}

// quantityFault returns a message that names the limit that the text of a quantity exceeds, or "" if it exceeds none.
func quantityFault[T string | []byte](text T) string {
	if len(text) > MaxQuantity {
		return fmt.Sprintf("a quantity has at most %d characters, and this one has %d; write it shorter, such as 2Gi", MaxQuantity, len(text))
	}
	short := string(text)
	at := strings.IndexAny(short, "eE")
	if at < 0 {
		return ""
	}
	digits := 0
	for _, c := range strings.TrimLeft(short[at+1:], "+-") {
		if c < '0' || c > '9' {
			break
		}
		digits++
	}
	if digits > MaxExponent {
		return fmt.Sprintf("the exponent of a quantity has at most %d digits, but the exponent of %q has %d; write it with a unit, such as 2Gi", MaxExponent, short, digits)
	}
	return ""
}
