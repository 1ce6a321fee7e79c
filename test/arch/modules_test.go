package arch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// requirements returns the versions that a go.mod requires, by module.
func requirements(t *testing.T, text string) map[string]string {
	t.Helper()

	versions := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}

	if len(versions) == 0 {
		t.Fatal("a go.mod without requirements")
	}
	return versions
}

// TestModulesRequireTheSameVersions checks that each module that uses this one requires the versions of its go.mod.
// Otherwise the clients, the bench and the end-to-end tests would be tested with other libraries than the operator.
func TestModulesRequireTheSameVersions(t *testing.T) {
	read := func(folder string) string {
		text, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	ours := requirements(t, read("."))

	for _, folder := range []string{"client", "bench", "test/e2e"} {
		text := read(folder)
		if !strings.Contains(text, module+" => ..") {
			t.Errorf("%s/go.mod does not replace this module by the checkout", folder)
		}

		theirs := requirements(t, text)
		for _, name := range slices.Sorted(maps.Keys(theirs)) {
			if want := ours[name]; want != "" && theirs[name] != want {
				t.Errorf("%s/go.mod requires %s %s, want %s", folder, name, theirs[name], want)
			}
		}
	}

	if ours[module+"/client"] != "" {
		t.Error("go.mod requires the clients, which are generated from this module")
	}
}
