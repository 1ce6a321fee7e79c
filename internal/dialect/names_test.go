package dialect

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "pi-1", strings.Repeat("a", 63)} {
		if wrong := CheckName(name, "a Service", 63); len(wrong) > 0 {
			t.Errorf("%q: %v", name, wrong[0])
		}
	}

	if wrong := CheckName("", "a Service", 63); len(wrong) != 1 ||
		wrong[0].Error() != "metadata.name: is required; write a name, or metadata.generateName" {
		t.Errorf("no name: %v", wrong)
	}

	for _, name := range []string{"1pi", "Pi", "pi-", "pi.1", "pi_1", strings.Repeat("a", 64)} {
		wrong := CheckName(name, "a Service", 63)
		if len(wrong) != 1 || wrong[0].Field != "metadata.name" ||
			!strings.HasPrefix(wrong[0].Message, `"`+name+`" is not valid as the beginning of a Service's name: `) {
			t.Errorf("%q: %v", name, wrong)
		}
	}
}
