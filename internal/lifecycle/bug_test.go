package lifecycle

import (
	"errors"
	"fmt"
	"testing"
)

func TestBug(t *testing.T) {
	err := fmt.Errorf("create the driver: %w", Bugf("pod %s has the attempt %d", "p", 2))
	if want := "create the driver: pod p has the attempt 2; this is a bug of the operator, report it"; err.Error() != want {
		t.Errorf("the message is %q, want %q", err, want)
	}

	if joined := errors.Join(errors.New("timeout"), err); !IsBug(err) || !IsBug(joined) ||
		IsBug(errors.New("timeout")) || IsBug(nil) {
		t.Error("IsBug does not recognize its errors")
	}
}
