// Package vulncheck tests tools/vuln.sh.
package vulncheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnerabilities runs the script for the program dist, which contains cyclonedx-go. The database in testdata has
// an invented vulnerability of that module, an empty database has none, and the third database does not exist.
func TestVulnerabilities(t *testing.T) {
	if testing.Short() {
		t.Skip("builds govulncheck")
	}

	binary := filepath.Join(t.TempDir(), "dist")
	if text, err := exec.Command("go", "build", "-o", binary, "../dist").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	known, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}

	empty := t.TempDir()
	if err := os.CopyFS(empty, os.DirFS(known)); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(empty, "index", "modules.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		database, required string
		fails              bool
		want               string
	}{
		"vulnerable module": {database: known, fails: true, want: "GO-0000-0001"},
		"no vulnerability":  {database: empty, want: "No vulnerabilities found"},
		"no database":       {database: filepath.Join(empty, "nowhere"), want: "not checked"},
		"no database, but required": {database: filepath.Join(empty, "nowhere"), required: "1", fails: true,
			want: "not checked"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("../vuln.sh", binary)

			cmd.Env = append(os.Environ(), "GOVULNDB=file://"+test.database)
			if test.required != "" {
				cmd.Env = append(cmd.Env, "VULN_REQUIRED="+test.required)
			}

			text, err := cmd.CombinedOutput()
			if (err != nil) != test.fails || !strings.Contains(string(text), test.want) {
				t.Errorf("fails %v, want %v, with %q in:\n%s", err != nil, test.fails, test.want, text)
			}
		})
	}
}
