package dialect

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// CheckName returns an error if the name of a custom resource is not a DNS label (RFC 1035), because the names of its
// Services begin with this name.
func CheckName(name string) []*FieldError {
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		return []*FieldError{{Field: "metadata.name", Message: fmt.Sprintf("%q is not valid as the beginning of a Service's name: %s", name, strings.Join(problems, "; "))}}
	}
	return nil
}
