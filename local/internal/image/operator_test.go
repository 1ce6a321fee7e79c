package image

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program writes a small module with a main package at ./cmd/NAME.
func program(t *testing.T, name, source string) string {
	t.Helper()

	dir := t.TempDir()
	for file, content := range map[string]string{"go.mod": "module example.org/x\n\ngo 1.24\n",
		"cmd/" + name + "/main.go": source} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOperatorImageHasBinaryAndCertificates(t *testing.T) {
	// A certificate that only the build machine trusts, such as that of a company's proxy, must not get into the image.
	machines := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(machines, []byte("certificates of this machine"), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Setenv("SSL_CERT_FILE", machines)

	source := "package main\n\nvar version string\n\nfunc main() { println(version) }\n" // as spark-operator has it
	o := OperatorOptions{SourceDir: program(t, "op", source), Package: "./cmd/op", Version: "1.2.3",
		Tag: "example.org/op:1", CacheDir: t.TempDir()}
	var progress strings.Builder
	o.Progress = &progress

	archive, err := Operator(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	files := contents(t, archive, o.Tag)

	var names []string
	for _, name := range sortedKeys(files) {
		if files[name] != "" {
			names = append(names, name)
		}
	}

	if diff := cmp.Diff([]string{"etc/ssl/certs/ca-certificates.crt", "usr/bin/op"}, names); diff != "" {
		t.Error("files:", diff)
	}

	pool := x509.NewCertPool()

	trusted := files["etc/ssl/certs/ca-certificates.crt"]
	if strings.Contains(trusted, "of this machine") || !pool.AppendCertsFromPEM([]byte(trusted)) ||
		strings.Count(trusted, "BEGIN CERTIFICATE") < 50 {
		t.Errorf("the CA certificates are %.200q", trusted)
	}

	out, err := exec.Command(unpackFile(t, archive, o.Tag, "usr/bin/op")).CombinedOutput()
	if err != nil || string(out) != "1.2.3\n" {
		t.Errorf("program printed %q, %v; want its version", out, err)
	}

	if strings.Contains(files["usr/bin/op"], o.SourceDir) {
		t.Error("the binary holds the path it was built at")
	}

	ref, _ := name.NewTag(o.Tag)

	img, err := tarball.ImageFromPath(archive, &ref)
	if err != nil {
		t.Fatal(err)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("user %q, labels %v", config.Config.User, config.Config.Labels)
	}

	if !strings.Contains(progress.String(), "MB compressed") {
		t.Errorf("progress does not print the size: %s", &progress)
	}

	if again, err := Operator(t.Context(), o); err != nil || again != archive {
		t.Errorf("nothing changed, but a new archive: %q, %v", again, err)
	}

	o.Version = "1.2.4"
	if other, err := Operator(t.Context(), o); err != nil || other == archive {
		t.Errorf("another version, but the old archive: %q, %v", other, err)
	}
}

func TestOperatorQuotesTheCompiler(t *testing.T) {
	o := OperatorOptions{SourceDir: program(t, "spark-operator", "package main\n\nfunc main() { nonsense() }\n"),
		CacheDir: t.TempDir()}
	if _, err := Operator(t.Context(), o); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("got %v, want the compiler output", err)
	}
}

func TestCopyCreatesTheDirectory(t *testing.T) {
	from := filepath.Join(t.TempDir(), "a")

	to := filepath.Join(t.TempDir(), "new", "dir", "b")
	if err := os.WriteFile(from, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := Copy(from, to); err != nil {
		t.Fatal(err)
	}

	if content, err := os.ReadFile(to); err != nil || string(content) != "x" {
		t.Errorf("%q, %v", content, err)
	}

	if err := Copy(filepath.Join(t.TempDir(), "absent"), to); err == nil {
		t.Error("copying what is not there succeeds")
	}
}
