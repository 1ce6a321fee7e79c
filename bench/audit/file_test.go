package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadFileFrom: a line that was being written at the offset is left out, and one that begins there is not.
func TestReadFileFrom(t *testing.T) {
	one, two, three := line(operator, "create", "pods", "one", 201, 1, 1, ""), line(operator, "create", "pods", "two", 201, 2, 2, ""), line(operator, "create", "pods", "three", 201, 3, 3, "")
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(one+two+three), 0o600); err != nil {
		t.Fatal(err)
	}
	names := func(log io.Reader, of Scope) (names []string, err error) {
		err = Read(log, func(e *Event) error {
			if of.Has(e) {
				names = append(names, e.Object.Name)
			}
			return nil
		})
		return names, err
	}
	end, err := End(file)
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64][]string{
		0: {"one", "two"}, 1: {"two"}, int64(len(one)): {"two"}, int64(len(one)) + 1: nil, end: nil,
	} {
		got, err := ReadFileFrom(file, offset, Scope{To: moment0(2)}, names)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from %d on (-want +got):\n%s", offset, diff)
		}
	}
	got, err := ReadFile(file, Scope{From: moment0(2)}, names)
	if diff := cmp.Diff([]string{"two", "three"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, err := range []error{func() error { _, err := ReadFile(file+"x", Scope{}, names); return err }(), func() error { _, err := End(file + "x"); return err }()} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of no file: %v", err)
		}
	}
}
