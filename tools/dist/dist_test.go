package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"
)

// packedImages are the digests of the images of packedRelease.
var packedImages = map[string]string{"sparkctl": "sha256:" + strings.Repeat("12", 32)}

// packedRelease returns the directory with the archives of all platforms. The archives contain short texts instead of
// binaries.
func packedRelease(t *testing.T) string {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	r := &release{version: "v1.2.3", revision: strings.Repeat("ab", 20), time: time.Unix(1_700_000_000, 0).UTC(),
		downloads: "https://example.org/v1.2.3"}

	binaries := map[platform]string{}
	for _, p := range platforms {
		binaries[p] = filepath.Join(dir, p.os+p.arch)
		write(t, binaries[p], "binary for "+p.String())
	}

	write(t, filepath.Join(dir, "LICENSE"), "license")

	boms := map[string][]byte{platforms[0].bom(): []byte("{}")}

	write(t, filepath.Join(out, "chart.tgz"), "chart")

	sums, err := r.pack(binaries, boms, []string{"chart.tgz"}, packedImages, filepath.Join(dir, "LICENSE"), out)
	if err != nil {
		t.Fatal(err)
	}

	again, err := r.pack(binaries, boms, []string{"chart.tgz"}, packedImages, filepath.Join(dir, "LICENSE"), out)
	if err != nil || again != sums {
		t.Errorf("the second time the checksums differ (%v):\n%s\n%s", err, sums, again)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()

	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program that must succeed, and returns its output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()

	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
	}
	return string(text)
}

// TestChecksums checks that sha256sum accepts the file SHA256SUMS for the archives of all platforms, for the one bill
// of materials, for the one other file and for the provenance.
func TestChecksums(t *testing.T) {
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")

	cmd.Dir = packedRelease(t)
	if n := strings.Count(output(t, cmd), ": OK\n"); n != len(platforms)+3 {
		t.Errorf("%d files are correct, want %d", n, len(platforms)+3)
	}
}

// TestZip checks that the archive for Windows is a zip file that contains an executable sparkctl.exe.
func TestZip(t *testing.T) {
	archive, err := zip.OpenReader(filepath.Join(packedRelease(t), "sparkctl_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()

	if len(archive.File) != 2 || archive.File[0].Name != "LICENSE" || archive.File[1].Name != "sparkctl.exe" ||
		archive.File[1].Mode() != 0o755 {
		t.Errorf("the files are %+v", archive.File)
	}
}

// TestKrew checks the manifest with krew's own validation, and installs each archive with krew. Krew compares the
// archive's checksum with the manifest's.
func TestKrew(t *testing.T) {
	if testing.Short() {
		t.Skip("builds krew")
	}

	bin, out := t.TempDir(), packedRelease(t)
	output(t, exec.Command("go", "build", "-C", "../krew", "-o", bin, "tool"))

	manifest := filepath.Join(out, "spark.yaml")
	output(t, exec.Command(filepath.Join(bin, "validate-krew-manifest"), "-skip-install", "-manifest", manifest))

	for _, p := range platforms {
		root := t.TempDir()
		install := exec.Command(filepath.Join(bin, "krew"), "install", "--manifest", manifest, "--archive",
			filepath.Join(out, p.archive()))
		install.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_OS="+p.os, "KREW_ARCH="+p.arch,
			"KREW_NO_UPGRADE_CHECK=1")
		output(t, install)

		if text := read(t, filepath.Join(root, "bin", "kubectl-spark"+p.suffix())); text != "binary for "+p.String() {
			t.Errorf("%s: the plugin is %q", p, text)
		}

		if text := read(t, filepath.Join(root, "store", "spark", "v1.2.3", "LICENSE")); text != "license" {
			t.Errorf("%s: the license is %q", p, text)
		}

		if !strings.Contains(read(t, manifest), "uri: https://example.org/v1.2.3/"+p.archive()+"\n") {
			t.Errorf("%s: the manifest does not name the archive", p)
		}
	}
}

// TestBuild builds the release of this platform with -check: sparkctl must be small and static, and a second build must
// be equal. The test then runs sparkctl as a plugin of kubectl.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds sparkctl")
	}

	t.Setenv("VERSION", "v1.2.3-test")

	here, out, bin := platform{runtime.GOOS, runtime.GOARCH}, t.TempDir(), t.TempDir()
	if err := run(t.Context(), "../..", out, []string{here.String()}, true); err != nil {
		t.Fatal(err)
	}

	output(t, exec.Command("tar", "-C", bin, "-xf", filepath.Join(out, here.archive())))

	if names := componentNames(t, filepath.Join(out, here.bom())); !slices.Contains(names, "github.com/spf13/cobra") ||
		!slices.Contains(names, "std") {
		t.Errorf("the bill of materials lacks modules: %v", names)
	}

	if err := os.Rename(filepath.Join(bin, "sparkctl"), filepath.Join(bin, "kubectl-spark")); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))

	if text := output(t, exec.Command("kubectl-spark", "version", "--help")); !strings.Contains(text,
		"kubectl spark version") {
		t.Errorf("the help of the plugin does not name it:\n%s", text)
	}

	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Log("kubectl is not installed, so it does not run the plugin")
		return
	}

	if text := output(t, exec.Command("kubectl", "spark", "version", "--short")); text != "v1.2.3-test\n" {
		t.Errorf("kubectl spark version prints %q", text)
	}
}

// TestImages builds the images, the operator's program, the chart and the manifests. The bill of materials of each
// image must list the program, a module that the program contains, and every other file of the image. The package of
// the chart must have the version of the release, and the digests of the images that the layouts contain for all
// architectures.
func TestImages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the images")
	}

	// `make e2e` builds them for all processors.
	archs, argument := []string{runtime.GOARCH}, imageArgument+"/"+runtime.GOARCH
	if os.Getenv("DIST_IMAGES") == "all" {
		archs, argument = architectures, imageArgument
	}

	t.Setenv("VERSION", "v1.2.3-test")

	out := t.TempDir()
	if err := run(t.Context(), "../..", out, []string{argument}, false); err != nil {
		t.Fatal(err)
	}

	for _, i := range images {
		for _, arch := range archs {
			checkImage(t, out, i, arch)
		}
	}

	for _, arch := range archs {
		checkOperator(t, out, arch)
	}

	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")

	sums.Dir = out
	if n := strings.Count(output(t, sums), ": OK\n"); n != 2*(len(images)+1)*len(archs)+5 {
		t.Errorf("SHA256SUMS lists %d files", n)
	}

	chart := packagedChart(t, filepath.Join(out, "spark-operator-1.2.3-test.tgz"))
	if chart.Version != "1.2.3-test" || chart.AppVersion != "v1.2.3-test" || chart.KubeVersion == "" {
		t.Errorf("the chart is %+v", chart)
	}

	digests := map[string]string{}

	for _, i := range images {
		digests[i.program] = indexDigest(t, out, i, archs)
		if got := chart.Annotations[digestAnnotation+i.program]; got != digests[i.program] {
			t.Errorf("the image %s has the digest %s, and the chart %q", i.program, digests[i.program], got)
		}
	}

	for program, digest := range digests {
		if !strings.Contains(read(t, filepath.Join(out, provenanceFile)), strings.TrimPrefix(digest, "sha256:")) {
			t.Errorf("the provenance lacks the image of %s", program)
		}
	}

	checkPush(t, out, "v1.2.3-test", digests)
}

// checkImage checks the image of a program for one architecture, and its bill of materials.
func checkImage(t *testing.T, out string, i image, arch string) {
	t.Helper()

	tar := filepath.Join(out, i.tar(arch))
	names := componentNames(t, tar+sbomSuffix)

	files, err := imageFiles(tar)
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files: %v", len(files), err)
	}

	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]

	for _, file := range files {
		if !slices.Contains(names, "/"+file.name) {
			t.Errorf("the bill of materials of %s lacks the file /%s", i.tar(arch), file.name)
		}

		if file.name != "usr/bin/"+i.program {
			continue
		}

		if !bytes.Contains(file.content, []byte("v1.2.3-test")) {
			t.Errorf("the program of %s does not have the version of the release", i.tar(arch))
		}

		if program, err := elf.NewFile(bytes.NewReader(file.content)); err != nil || program.Machine != machine {
			t.Errorf("%s contains a program for another processor: %v", i.tar(arch), err)
		}
	}

	if !slices.Contains(names, "/usr/bin/"+i.program) || !slices.Contains(names, "sigs.k8s.io/controller-runtime") || !slices.Contains(names, "std") {
		t.Errorf("the bill of materials of %s lacks the program or modules: %v", i.tar(arch), names)
	}
}

// checkOperator checks that the archive of the operator's program contains the program of the image, and that its bill
// of materials lists the modules.
func checkOperator(t *testing.T, out, arch string) {
	t.Helper()

	name := "spark-operator_linux_" + arch
	files, err := imageFiles(filepath.Join(out, images[0].tar(arch)))
	program := output(t, exec.Command("tar", "-xOf", filepath.Join(out, name+".tar.gz"), "spark-operator"))

	if err != nil || !slices.ContainsFunc(files, func(f imageFile) bool { return f.name == "usr/bin/spark-operator" && string(f.content) == program }) {
		t.Errorf("the program of %s is not that of the image: %v", name, err)
	}

	if names := componentNames(t, filepath.Join(out, name+sbomSuffix)); !slices.Contains(names, "sigs.k8s.io/controller-runtime") || !slices.Contains(names, "std") {
		t.Errorf("the bill of materials of %s lacks modules: %v", name, names)
	}
}

// chartMetadata is the file Chart.yaml.
type chartMetadata struct {
	Version, AppVersion, KubeVersion string
	Annotations                      map[string]string
}

// packagedChart returns the file Chart.yaml of a package.
func packagedChart(t *testing.T, file string) (chart chartMetadata) {
	t.Helper()

	text := output(t, exec.Command("tar", "-xOf", file, "spark-operator/Chart.yaml"))
	if err := yaml.Unmarshal([]byte(text), &chart); err != nil {
		t.Fatal(err)
	}
	return chart
}

// indexDigest checks that the layout of an image contains an index with a valid image for each architecture, and
// returns the digest of the index.
func indexDigest(t *testing.T, out string, i image, archs []string) string {
	t.Helper()

	root, err := layout.ImageIndexFromPath(filepath.Join(out, imagesDirectory, i.program))
	if err != nil {
		t.Fatal(err)
	}

	manifest, err := root.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the layout of %s has no single index: %v", i.program, err)
	}

	digest := manifest.Manifests[0].Digest

	index, err := root.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}

	if err := validate.Index(index); err != nil {
		t.Errorf("%s: %v", i.program, err)
	}

	inside, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}

	var found []string
	for _, entry := range inside.Manifests {
		found = append(found, entry.Platform.Architecture)
	}

	if !slices.Equal(found, archs) {
		t.Errorf("%s has images for %v", i.program, found)
	}
	return digest.String()
}

// componentNames returns the names of the components in a bill of materials.
func componentNames(t *testing.T, file string) (names []string) {
	t.Helper()

	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(strings.NewReader(read(t, file)), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}

	for _, component := range *bom.Components {
		names = append(names, component.Name)
	}
	return names
}

// TestStatic checks that static returns an error for a binary that needs a dynamic loader.
func TestStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has ELF files")
	}

	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}

	if err := static(shell); err == nil || !strings.Contains(err.Error(), "dynamic loader") {
		t.Errorf("the shell: %v", err)
	}
}

// TestPlatforms checks what arguments choose, and that choose rejects an unknown platform with an error that lists the
// known platforms.
func TestPlatforms(t *testing.T) {
	for _, unknown := range []string{"plan9/386", "image/386"} {
		if _, _, err := choose([]string{"linux/amd64", unknown}); err == nil ||
			!strings.Contains(err.Error(), "windows/arm64") {
			t.Error(err)
		}
	}

	for arguments, want := range map[string][2]int{
		"": {len(platforms), 2}, "image": {0, 2}, "linux/amd64": {1, 0}, "linux/amd64 image/arm64": {1, 1},
	} {
		chosen, archs, err := choose(strings.Fields(arguments))
		if got := [2]int{len(chosen), len(archs)}; err != nil || got != want {
			t.Errorf("%q: %v, %v", arguments, got, err)
		}
	}
}
