package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDirectoryListsEveryPage checks that the list of a directory has every object once, in the order of their keys,
// also if it has more than a page. The keys of pi-2 come before those of pi, but the directory pi comes before pi-2. If
// a page ended in pi, the list once left out pi-2.
func TestDirectoryListsEveryPage(t *testing.T) {
	root := t.TempDir()

	var keys []string

	add := func(dir string, files int) {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}

		for i := range files {
			key := fmt.Sprintf("%s/%04d", dir, i)
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(key)), nil, 0o600); err != nil {
				t.Fatal(err)
			}

			keys = append(keys, key)
		}
	}
	add("jobs/pi/1", 2100)
	add("jobs/pi/2", 300)
	add("jobs/pi-2/1", 20)
	add("jobs/pi.2/1", 20)
	add("jobs-2/pi", 5)
	add("other/pi", 5)
	slices.Sort(keys)

	if err := os.MkdirAll(filepath.Join(root, "jobs", "empty", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}

	b := open(t, "file://"+root)

	for _, prefix := range []string{"", "jobs/", "jobs/pi", "jobs/pi/", "jobs/pi-", "jobs/pi/1/000", "none", "none/none/"} {
		var got, want []string

		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}

		for object, err := range b.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}

			if got = append(got, object.Key); object.ModTime.IsZero() {
				t.Errorf("%s has no time", object.Key)
			}
		}

		if !slices.Equal(got, want) {
			t.Errorf("below %q, %d objects are listed, want %d", prefix, len(got), len(want))
		}
	}

	for object, err := range b.List(t.Context(), "") {
		if err == nil && object.Key != "" {
			break // panics if the list continues
		}
	}
}
