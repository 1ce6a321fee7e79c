package image

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/debian"
)

// sparkUser is the user ID and group ID that Spark's own images use.
const sparkUser = 185

// baseVersion is part of the cache key of the base layer. Raise it when a code change makes the layer keep or drop
// other files.
const baseVersion = "1"

// base is the layer of operating-system packages: the distribution's essential packages, a Java runtime and Python.
type base struct {
	release debian.Release
	java    int // 17 or 21
}

func (b base) packages() []string {
	return []string{fmt.Sprintf("openjdk-%d-jre-headless", b.java), "python3", "tini", "ca-certificates", "procps", "libnss-wrapper"}
}

func (b base) id() productID {
	name := fmt.Sprintf("base-%s-java%d", b.release.Codename, b.java)
	inputs := append([]string{baseVersion, b.release.ID, b.release.Codename}, b.packages()...)
	return productID{kind: "layers", name: name, key: key(inputs...), ext: ".tar"}
}

// javas are the supported Java versions, the preferred version first. Each of them runs every Spark version from 3.5 on
// (Java 21 officially from Spark 4.0 on).
var javas = []int{17, 21}

// newBase chooses the Java version and returns the base for it. If java is 0, newBase prefers the version of an
// existing base layer, so that a start with a warm cache does not run apt. Without such a layer it chooses the first
// version that the distribution has.
func newBase(ctx context.Context, s *store, java int) (base, error) {
	if java != 0 && !slices.Contains(javas, java) {
		return base{}, fmt.Errorf("unsupported Java version %d: use 17 or 21", java)
	}

	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return base{}, fmt.Errorf("read the distribution of the machine: %w", err)
	}

	r, err := debian.ParseRelease(string(text))
	if err != nil {
		return base{}, err
	}

	b := base{release: r, java: java}
	if java != 0 {
		return b, nil
	}

	for _, b.java = range javas {
		if exists(s.path(b.id())) {
			return b, nil
		}
	}

	if err := prepare(ctx, s.log); err != nil {
		return base{}, err
	}

	for _, b.java = range javas {
		if available, err := hasPackage(ctx, b.packages()[0]); available || err != nil {
			return b, err
		}
	}
	return base{}, fmt.Errorf("%s %s has neither openjdk-17-jre-headless nor openjdk-21-jre-headless: use a release that has one of them", r.ID, r.Codename)
}

// prepare installs the programs that build the layer, mmdebstrap and mount. It also fetches the package lists if they
// are missing, which is usual in a fresh container.
func prepare(ctx context.Context, log *progress) error {
	// Few machines have tini installed, so apt finds a candidate for it only if the package lists are fetched.
	available, err := hasPackage(ctx, "tini")
	if err != nil {
		return err
	}

	if available && onPath("mmdebstrap") && onPath("mount") {
		return nil
	}
	return install(ctx, log, "mmdebstrap", "mount") // mmdebstrap mounts /proc, which Java packages need.
}

// layer returns the path of the base layer. It builds the layer if it is not in the store.
func (b base) layer(ctx context.Context, s *store) (string, error) {
	return s.product(ctx, b.id(), func(ctx context.Context, path string) error {
		if err := prepare(ctx, s.log); err != nil {
			return err
		}

		if available, err := hasPackage(ctx, b.packages()[0]); err != nil {
			return err
		} else if !available {
			return fmt.Errorf("%s %s has no package %s: choose the other Java version (17 or 21) with --java", b.release.ID, b.release.Codename, b.packages()[0])
		}
		defer s.log.step("base layer: %s %s with Java %d and Python", b.release.ID, b.release.Codename, b.java)()

		cmd, err := b.command(ctx, path)
		if err != nil {
			return err
		}

		w, err := newLayer(path)
		if err != nil {
			return err
		}
		defer w.abort()

		out, err := cmd.StdoutPipe()
		if err != nil {
			return fmt.Errorf("read the output of mmdebstrap: %w", err)
		}
		var tail tailWriter

		cmd.Stderr = &tail
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start mmdebstrap: %w", err)
		}

		copyErr := copyBase(w, out, time.Now())
		if copyErr != nil {
			_ = out.Close() // Otherwise mmdebstrap would wait forever for a reader.
		}

		if err := cmd.Wait(); err != nil || copyErr != nil {
			return fmt.Errorf("mmdebstrap failed: %w; its last lines:\n%s", errors.Join(err, copyErr), lastLines(tail.String(), 25))
		}
		return w.finish()
	})
}

// command returns the mmdebstrap command that bootstraps the layer. Unlike debootstrap, mmdebstrap uses all sources of
// the machine, including security updates. It omits unwanted files before it unpacks them, does not need root, and
// takes a third of the time.
func (b base) command(ctx context.Context, product string) (*exec.Cmd, error) {
	text, err := output(ctx, "apt-get", "indextargets", "--format", debian.TargetFormat)
	if err != nil {
		return nil, err
	}

	targets := b.release.Distribution(debian.ParseTargets(text))
	if len(targets) == 0 {
		return nil, fmt.Errorf("apt's sources name no repository of %s %s: add one to /etc/apt", b.release.ID, b.release.Codename)
	}

	settings, err := output(ctx, "apt-config", "dump")
	if err != nil {
		return nil, err
	}

	args := []string{
		"--variant=essential", "--format=tar", "--include=" + strings.Join(b.packages(), ","),
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		"--dpkgopt=path-exclude=/usr/share/info/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-include=/usr/share/doc/*/copyright",
		// The Java packages create links in this directory and fail if it does not exist.
		`--essential-hook=mkdir -p "$1/usr/share/man/man1"`,
	}
	for _, option := range debian.ParseAcquire(settings) {
		args = append(args, "--aptopt="+option)
	}

	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, "", "-", "-")...)
	cmd.Stdin = strings.NewReader(debian.SourceLines(targets, debian.SignedByFile))

	cmd.Env = append(os.Environ(), "TMPDIR="+path.Dir(product), "LC_ALL=C")
	// On SIGTERM, mmdebstrap ends its children and removes the unpacked files. On SIGKILL, both would remain.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd, nil
}

// dropPatterns lists patterns of files that an image does not need: files of the machine that built it, caches, logs,
// and large files that no program in the image uses.
var dropPatterns = []string{
	"dev/*", "proc/*", "sys/*", "run/*", "tmp/*",
	"etc/hostname", "etc/resolv.conf", "etc/machine-id", "etc/apt",
	"var/cache/*", "var/log/*", "var/lib/apt", "var/tmp/*",
	"usr/share/man/*", "usr/share/info", "usr/share/lintian", "usr/share/bug", "usr/share/bash-completion",
	"usr/share/perl", "usr/lib/*/perl", "usr/share/perl5", // The full Perl; perl-base, which is essential, stays.
	"usr/lib/jvm/*/lib/server/classes_nocoops.jsa", // Class data for heaps above 32 GB.
	"usr/lib/*/cmake", "usr/lib/*/pkgconfig",
}

// isDropped reports whether one of the dropPatterns matches the path or one of its parents.
func isDropped(name string) bool {
	for p := name; p != "."; p = path.Dir(p) {
		for _, pattern := range dropPatterns {
			if ok, _ := path.Match(pattern, p); ok {
				return true
			}
		}
	}
	return false
}

// copyBase copies the tar of a bootstrapped system to the layer. Files of packages keep their times, because Python's
// compiled modules contain the times of their sources. Files that the bootstrap itself wrote get the time of the
// constant epoch instead. These are all files whose time is later than one minute before `begin`, the start of the
// bootstrap.
func copyBase(w *layerWriter, r io.Reader, begin time.Time) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return fmt.Errorf("read: %w", err)
		}

		name := path.Clean(h.Name)
		if name == "." || isDropped(name) {
			continue
		}

		h.Name = name
		if h.Typeflag == tar.TypeLink {
			h.Linkname = path.Clean(h.Linkname)
		}

		h.ModTime = h.ModTime.Truncate(time.Second)
		if h.ModTime.After(begin.Add(-time.Minute)) {
			h.ModTime = epoch
		}

		body := io.Reader(in)
		if line := accounts[name]; line != "" {
			h.Size += int64(len(line))
			body = io.MultiReader(in, strings.NewReader(line))
		}

		if h.Typeflag != tar.TypeReg {
			body = nil
		}

		if err := w.add(*h, body); err != nil {
			return err
		}
	}
	// The tar reader stops at the end mark. Read the padding after it, so that the writer does not get a closed pipe.
	_, err := io.Copy(io.Discard, r)
	return err
}

// accounts maps an account file to the line for the Spark user that copyBase appends to the file. Without a name for
// the user ID, the JVM cannot log in to Hadoop.
var accounts = map[string]string{
	"etc/passwd": fmt.Sprintf("spark:x:%d:%d:Spark:/opt/spark/work-dir:/bin/bash\n", sparkUser, sparkUser),
	"etc/group":  fmt.Sprintf("spark:x:%d:\n", sparkUser),
}

// tailWriter keeps at least the last 64 KiB written to it.
type tailWriter struct{ strings.Builder }

func (t *tailWriter) Write(p []byte) (int, error) {
	n, err := t.Builder.Write(p)
	if t.Len() > 1<<17 {
		kept := t.String()[t.Len()-1<<16:]
		t.Reset()
		t.WriteString(kept)
	}
	return n, err
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// hasPackage reports whether apt could install the package.
func hasPackage(ctx context.Context, name string) (bool, error) {
	out, err := output(ctx, "apt-cache", "policy", name)
	return debian.ParseCandidate(out) != "", err
}

// install installs packages with the machine's apt. If it does not run as root, it returns an error with the command
// that root must run.
func install(ctx context.Context, log *progress, names ...string) error {
	defer log.step("install %s", strings.Join(names, " "))()

	if err := debian.Install(ctx, names...); err != nil {
		return fmt.Errorf("the build of the Spark image needs %s: %w", strings.Join(names, " "), err)
	}
	return nil
}

// output runs a program and returns its standard output.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	w := bufio.NewWriter(&out)

	cmd.Stdout = w
	if err := run(cmd); err != nil {
		return "", err
	}

	if err := w.Flush(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return out.String(), nil
}
