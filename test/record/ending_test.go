package record

import (
	"path/filepath"
	"testing"
)

// TestEndingsAreRecorded checks that each ending of the list has exactly one recording.
func TestEndingsAreRecorded(t *testing.T) {
	const dir = "../../internal/lifecycle/testdata/endings"

	list, err := Endings(filepath.Join(dir, "endings.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range list {
		if files, err := filepath.Glob(filepath.Join(dir, e.Name+".*.log.gz")); err != nil || len(files) != 1 {
			t.Errorf("%s has %d recordings, %v: run tools/record.sh -endings=internal/lifecycle/testdata/endings %s %s",
				e.Name, len(files), err, e.Version, e.Name)
		}
	}
}
