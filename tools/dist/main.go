// Command dist builds sparkctl for every platform, the images of the operator and of sparkctl, which serves the web
// console, the operator's program, the package of the chart and manifests for kubectl. It writes the archives, a bill
// of materials of each binary and of each image, the provenance and the checksums of all files, the release notes and
// the manifest for krew into a directory. There it replaces the files of an earlier build, and nothing else:
//
//	dist [-check] [-out DIR] [PLATFORM...]
//
// A platform has the form linux/amd64; "image" stands for the images, the operator's program, the chart, whose package
// has the digests of the images, and the manifests, and "image/amd64" for these with images of one architecture. If no
// platform is named, dist builds everything. With -check, dist builds everything a second time from a copy of the
// sources in another directory, and compares the checksums.
//
// These environment variables override the values that dist reads from Git: VERSION is the version of the release,
// REVISION is its commit, and SOURCE_DATE_EPOCH is the modification time of the files in the archives. DOWNLOADS is the
// address of the directory from which krew fetches the archives.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is an operating system and a processor architecture (GOOS and GOARCH).
type platform struct{ os, arch string }

// platforms are the platforms of a release.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// imageArgument is the argument that stands for the images, the chart and the manifests.
const imageArgument = "image"

// image is a container image: the subcommand of sparklocal image that builds it, and the program that it runs.
type image struct{ command, program string }

// images are the images of a release.
var images = []image{{"operator", "spark-operator"}, {"sparkctl", "sparkctl"}}

// tar returns the file name of the image for an architecture, which is a tar of docker save.
func (i image) tar(arch string) string { return i.program + "_linux_" + arch + ".tar" }

// name returns the name of the image without the tag, which the chart looks for.
func (i image) name() string { return "docker.io/sparkoperator/" + i.program }

// release contains the inputs of the build. Together with the sources and the version of Go, it determines each byte of
// the archives.
type release struct {
	version, revision string
	// time is the modification time of the files in the archives.
	time time.Time
	// downloads is the address of the directory from which krew fetches the archives.
	downloads string
}

func main() {
	check := flag.Bool("check", false, "build a second time in another directory, and compare the checksums")
	out := flag.String("out", "../dist", "`directory` for the results")

	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, "..", *out, flag.Args(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run builds the named platforms from the sources in the directory root, and writes the archives into the directory
// out. If check is true, it builds them a second time and returns an error if the results differ.
func run(ctx context.Context, root, out string, names []string, check bool) error {
	r, err := described(ctx, root)
	if err != nil {
		return err
	}

	chosen, archs, err := choose(names)
	if err != nil {
		return err
	}

	sums, err := r.write(ctx, root, out, chosen, archs)
	if err != nil || !check {
		return err
	}

	other, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(other)

	if err := copySources(ctx, root, filepath.Join(other, "sources")); err != nil {
		return err
	}

	again, err := r.write(ctx, filepath.Join(other, "sources"), filepath.Join(other, "dist"), chosen, archs)
	if err != nil {
		return err
	}

	if again != sums {
		return fmt.Errorf("two builds of the same sources have different checksums:\n%s\n%s", sums, again)
	}

	fmt.Println("two builds are equal")
	return nil
}

// described returns the release to build. It reads the release's version, commit and time from environment variables.
// If a variable is not set, it reads the value from Git.
func described(ctx context.Context, root string) (*release, error) {
	var failed error
	of := func(variable string, args ...string) string {
		if value := os.Getenv(variable); value != "" {
			return value
		}

		text, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		failed = errors.Join(failed, err)
		return strings.TrimSpace(string(text))
	}

	r := &release{revision: of("REVISION", "rev-parse", "HEAD")}
	if r.version = os.Getenv("VERSION"); r.version == "" {
		r.version = "v0.0.0-g" + of("", "describe", "--always", "--dirty", "--exclude=*")
	}

	epoch, err := strconv.ParseInt(of("SOURCE_DATE_EPOCH", "log", "-1", "--format=%ct"), 10, 64)
	if failed = errors.Join(failed, err); failed != nil {
		return nil, fmt.Errorf("set VERSION, REVISION and SOURCE_DATE_EPOCH, because Git does not describe the release: %w", failed)
	}

	r.time = time.Unix(epoch, 0).UTC()
	r.downloads = cmp.Or(os.Getenv("DOWNLOADS"), "https://github.com/sparkoperator/spark-operator/releases/download/"+r.version)
	return r, nil
}

// choose returns the named platforms and the architectures of the named images, or all if nothing is named.
func choose(names []string) (chosen []platform, archs []string, err error) {
	if len(names) == 0 {
		return platforms, architectures, nil
	}

	for _, name := range names {
		before, arch, _ := strings.Cut(name, "/")
		at := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })

		switch {
		case name == imageArgument:
			archs = slices.Clone(architectures)
		case before == imageArgument && slices.Contains(architectures, arch):
			archs = append(archs, arch)
		case at >= 0:
			chosen = append(chosen, platforms[at])
		default:
			return nil, nil, fmt.Errorf("%q is not a platform of a release; the platforms are %v", name, platforms)
		}
	}
	// Each once and in one order, on which the digest of an index depends.
	slices.Sort(archs)
	return chosen, slices.Compact(archs), nil
}

// write builds the platforms, and the images for the architectures, from the sources in root. It writes everything into
// the directory out, in place of an earlier build, and returns the checksums. A build that fails leaves the earlier
// one.
func (r *release) write(ctx context.Context, root, out string, chosen []platform, archs []string) (string, error) {
	// The build takes minutes, so files of others are reported before.
	if _, err := earlier(out); err != nil {
		return "", err
	}

	stage, err := os.MkdirTemp("", "sparkctl")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)

	binaries, boms, err := r.sparkctls(ctx, root, stage, chosen)
	if err != nil {
		return "", err
	}

	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}

	// The files move into place at the end, which is possible only on the file system of the directory.
	unfinished, err := os.MkdirTemp(out, ".unfinished-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)

	written, err := r.notes(ctx, root, unfinished)
	if err != nil {
		return "", err
	}

	var digests map[string]string
	if len(archs) > 0 {
		var more []string
		if more, digests, err = r.imagesAndChart(ctx, root, unfinished, archs, boms); err != nil {
			return "", err
		}

		written = append(written, more...)
	}

	sums, err := r.pack(binaries, boms, written, digests, filepath.Join(root, "LICENSE"), unfinished)
	if err != nil {
		return "", err
	}
	return sums, publish(unfinished, out)
}

// sparkctls builds sparkctl for platforms into a directory, and returns the files and their bills of materials.
func (r *release) sparkctls(ctx context.Context, root, directory string, chosen []platform) (binaries map[platform]string, boms map[string][]byte, err error) {
	binaries, boms = map[platform]string{}, map[string][]byte{}
	for _, p := range chosen {
		binary := filepath.Join(directory, p.os+"-"+p.arch)
		if err := r.build(ctx, root, p, binary); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}

		binaries[p] = binary
		if boms[p.bom()], err = r.binarySBOM("sparkctl", binary); err != nil {
			return nil, nil, err
		}
	}
	return binaries, boms, nil
}

// copySources copies the files that Git tracks to another directory.
func copySources(ctx context.Context, from, to string) error {
	list, err := exec.CommandContext(ctx, "git", "-C", from, "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("-check cannot list the sources, because it needs a Git clone of the repository: %w", err)
	}

	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // the file was deleted, but the deletion is not committed
		}

		if err != nil {
			return err
		}

		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			return err
		}

		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
