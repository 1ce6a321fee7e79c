package bounds

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity reads a quantity that a user wrote, such as 500m or 2Gi. It has at most MaxQuantity characters, and at most MaxExponent digits after e or E:
// the time that resource.ParseQuantity takes grows with the value of the exponent, and that of the quantity's own methods too. A quantity that was read by
// Quantity can be compared, added and rounded in no time; whether it fits an int64 is still to be asked (AsInt64). The error is a *Fault where the text
// exceeds a limit.
func Quantity(text string) (resource.Quantity, error) {
	if what := quantityFault(text); what != "" {
		return resource.Quantity{}, &Fault{Message: what}
	}
	return resource.ParseQuantity(text)
}

// quantityFault says which limit the text of a quantity exceeds; "" if it exceeds none.
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
		return fmt.Sprintf("the exponent of a quantity has at most %d digits, and that of %q has %d; write it with a unit, such as 2Gi", MaxExponent, short, digits)
	}
	return ""
}
