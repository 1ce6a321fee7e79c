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
//
// It also rejects a negative quantity. The API server refuses one when a pod is created, which is too late: until then,
// a negative amount would lower the sum of the amounts that the platform limits.
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
	if negative, found := strings.CutPrefix(strings.TrimSpace(short), "-"); found && strings.ContainsAny(negative, "123456789") {
		return fmt.Sprintf("the quantity %q is negative; write 0 or more", short)
	}

	at := strings.IndexAny(short, "eE")
	if at < 0 {
		return ""
	}

	if strings.Trim(short[:at], "+-. ") == "" {
		return fmt.Sprintf("the quantity %q has no number before its exponent; write one such as 500m or 2Gi", short)
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
