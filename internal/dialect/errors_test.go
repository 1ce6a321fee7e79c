package dialect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestStatementLeavesOutTheAdvice checks that Statement cuts only the message. A field may contain a semicolon too,
// because users choose the keys in it.
func TestStatementLeavesOutTheAdvice(t *testing.T) {
	for name, c := range map[string]struct{ field, message, want string }{
		"an advice":                 {"spec.image", "is not set; set it", "spec.image: is not set"},
		"no advice":                 {"spec.image", "is not set", "spec.image: is not set"},
		"an advice after two parts": {"spec.image", "is a; or b; set it", "spec.image: is a; or b"},
		"a semicolon without blank": {"spec.image", "is a;b", "spec.image: is a;b"},
		"a semicolon in the field":  {"spec.sparkConf[a; b]", "is unknown", "spec.sparkConf[a; b]: is unknown"},
		"semicolons in both": {"spec.sparkConf[a; b]", "is unknown; remove it",
			"spec.sparkConf[a; b]: is unknown"},
		"a message that starts with": {"spec.image", "; set it", "spec.image: ; set it"},
		"no message":                 {"spec.image", "", "spec.image: "},
	} {
		fault := &FieldError{Field: c.field, Message: c.message}
		if got := fault.Statement(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}

		if got, want := fault.Error(), c.field+": "+c.message; got != want {
			t.Errorf("%s: the error is %q, want %q", name, got, want)
		}
	}
}

func TestAsFaults(t *testing.T) {
	fault := &FieldError{Field: "spec.image", Message: "is wrong"}
	for name, c := range map[string]struct {
		err  error
		want []*FieldError
	}{
		"no error":              {nil, nil},
		"a fault of a field":    {fault, []*FieldError{fault}},
		"a fault in a chain":    {fmt.Errorf("rendering: %w", fault), []*FieldError{fault}},
		"an error of no field":  {errors.New("no memory"), []*FieldError{{Field: "spec", Message: "no memory"}}},
		"a fault among several": {errors.Join(errors.New("x"), fault), []*FieldError{fault}},
	} {
		if diff := cmp.Diff(c.want, AsFaults(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestInvalid(t *testing.T) {
	if got := Invalid(nil); got != nil {
		t.Errorf("without faults: %v", got)
	}

	got := Invalid([]*FieldError{{Field: "spec.image", Message: "is not set; set it"},
		{Field: "spec.type", Message: "is wrong"}})

	want := &lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.image: is not set; set it; spec.type: is wrong"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestInvalidIsBounded checks that a spec with very many faults makes no message of many megabytes, and that the first
// fault is always part of the message.
func TestInvalidIsBounded(t *testing.T) {
	faults := make([]*FieldError, 100_000)
	for i := range faults {
		faults[i] = &FieldError{Field: fmt.Sprintf("spec.volumes[%d]", i), Message: "has no name"}
	}

	message := Invalid(faults).Message
	if !strings.HasPrefix(message, "spec.volumes[0]: has no name; spec.volumes[1]: has no name; ") {
		t.Errorf("the message begins with %.100q", message)
	}

	if len(message) < lifecycle.MaxMessage || len(message) > lifecycle.MaxMessage+100 {
		t.Errorf("the message has %d bytes", len(message))
	}
}
