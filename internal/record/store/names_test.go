package store

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
)

// TestHostileNames checks that the objects of a namespace stay in its folder, whatever a pod's owner reference has for
// a name. The API server does not check that name.
func TestHostileNames(t *testing.T) {
	root := t.TempDir()

	b, err := OpenBucket(t.Context(), "file://"+root+"/store", bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}

	names := []string{"../../out", "a/../../../out", "..", "/etc", "../victim/app"}
	for _, name := range names {
		if err := b.Write(t.Context(), Attempt{Namespace: "jobs", Name: name, UID: "u", Number: 1}.Dir()+DriverFile, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}

	files := 0

	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if files++; !strings.HasPrefix(path, root+"/store/jobs/") {
				t.Errorf("wrote %s", path)
			}
		}
		return err
	})
	if err != nil || files != len(names) {
		t.Errorf("%d files are there, %v", files, err)
	}
}
