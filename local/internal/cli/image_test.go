package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func runImage(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := NewImageCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestImagePrintsThePathOfTheTar checks that the command prints only the path of the tar, because scripts read the path
// from standard output.
func TestImagePrintsThePathOfTheTar(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)

	file := filepath.Join(t.TempDir(), "new", "probe.tar")
	for _, test := range []struct {
		args []string
		want string // the prefix of the line
	}{
		{[]string{"pause"}, filepath.Join(cache, "sparklocal", "images", "archives", "pause-")},
		{[]string{"probe", "-o", file}, file},
	} {
		out, err := runImage(t, test.args...)

		path := strings.TrimSuffix(out, "\n")
		if err != nil || !strings.HasPrefix(path, test.want) || strings.Contains(path, "\n") {
			t.Errorf("image %v printed %q, %v; want one line that begins with %s", test.args, out, err, test.want)
			continue
		}

		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("image %v: no archive at %s: %v", test.args, path, err)
		}
	}
}

func TestImageErrorsNameTheProblem(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"spark", "--version", "9.9.9"}, "no checksum is pinned"},
		{[]string{"spark", "--java", "8"}, "17 or 21"},
		{[]string{"spark", "--tag", "Not A Tag"}, "image tag"},
		{[]string{"operator", "--source", t.TempDir()}, "go build"},
		{[]string{"spark", "extra"}, "unknown command"},
	} {
		if out, err := runImage(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("image %v: printed %q, error %v; want one that contains %q", test.args, out, err, test.want)
		}
	}
}
