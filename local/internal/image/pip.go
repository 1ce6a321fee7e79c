package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/local/images"
)

// requirement is one line of a pip requirements file: a package with a pinned version.
type requirement struct {
	name, version string
	sha256        []string // hexadecimal; the file must match one of them
}

var requirementLine = regexp.MustCompile(`^([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)$`)

// parseRequirements parses the supported subset of pip requirements files. Every line must pin a version and its
// checksum. The character # starts a comment.
func parseRequirements(text string) ([]requirement, error) {
	var all []requirement

	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")

		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}

		m := requirementLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("requirement %q does not have the form NAME==VERSION --hash=sha256:DIGEST", line)
		}

		r := requirement{name: m[1], version: m[2]}
		for h := range strings.FieldsSeq(m[3]) {
			r.sha256 = append(r.sha256, strings.TrimPrefix(h, "--hash=sha256:"))
		}

		all = append(all, r)
	}

	if len(all) == 0 {
		return nil, errors.New("the requirements file lists no package: add at least one requirement")
	}
	return all, nil
}

func (r requirement) String() string {
	return r.name + "==" + r.version + " --hash=sha256:" + strings.Join(r.sha256, " --hash=sha256:")
}

// sparkDistribution returns the pinned source distribution of a Spark version. If the version is not pinned, the error
// lists the available versions.
func sparkDistribution(version string) (requirement, error) {
	all, err := embeddedRequirements("spark/requirements.txt")
	if err != nil {
		return requirement{}, err
	}

	var known []string
	for _, r := range all {
		if r.version == version {
			return r, nil
		}

		known = append(known, r.version)
	}
	return requirement{}, fmt.Errorf("no checksum is pinned for Spark version %q in local/images/spark/requirements.txt: use one of %s, or add the checksum",
		version, strings.Join(known, ", "))
}

// SparkVersions returns the Spark versions for which the function Spark can build an image, oldest first.
func SparkVersions() []string {
	all, err := embeddedRequirements("spark/requirements.txt")
	if err != nil {
		return nil // A test ensures that the embedded file is valid.
	}

	versions := make([]string, len(all))
	for i, r := range all {
		versions[i] = r.version
	}
	return versions
}

func embeddedRequirements(file string) ([]requirement, error) {
	text, err := images.Files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("requirements: %w", err)
	}
	return parseRequirements(string(text))
}

// pipCommand returns the command that runs pip, which is either a program or a module of python3. If pip is missing,
// pipCommand installs the pip of the distribution.
func pipCommand(ctx context.Context, log *progress) ([]string, error) {
	if command := findPip(ctx); command != nil {
		return command, nil
	}

	if err := install(ctx, log, "python3-pip"); err != nil {
		return nil, err
	}

	if command := findPip(ctx); command != nil {
		return command, nil
	}
	return nil, errors.New("python3-pip is installed, but neither pip3, pip nor `python3 -m pip` runs: repair its installation")
}

func findPip(ctx context.Context) []string {
	for _, command := range [][]string{{"pip3"}, {"pip"}, {"python3", "-m", "pip"}} {
		if _, err := output(ctx, command[0], append(slices.Clone(command[1:]), "--version")...); err == nil {
			return command
		}
	}
	return nil
}

// downloadSource downloads a pinned source distribution to dir and returns the path of the file. pip verifies the
// checksum, and then runs the build script of the distribution to get its metadata. That script needs setuptools.
// downloadSource installs setuptools at a pinned version, so that no unpinned code runs.
func downloadSource(ctx context.Context, log *progress, r requirement, dir string) (string, error) {
	pip, err := pipCommand(ctx, log)
	if err != nil {
		return "", err
	}

	tools, err := embeddedRequirements("spark/requirements-build.txt")
	if err != nil {
		return "", err
	}

	toolsDir := filepath.Join(dir, "build-tools")

	args := []string{"install", "--target", toolsDir, "--only-binary", ":all:"}
	if err := runPip(ctx, pip, dir, args, tools, nil); err != nil {
		return "", err
	}

	args = []string{"download", "--dest", dir, "--no-binary", ":all:", "--no-build-isolation", "--ignore-requires-python", "--no-cache-dir"}
	if err := runPip(ctx, pip, dir, args, []requirement{r}, []string{"PYTHONPATH=" + toolsDir}); err != nil {
		return "", err
	}

	file := filepath.Join(dir, r.name+"-"+r.version+".tar.gz")
	if !exists(file) {
		return "", fmt.Errorf("pip download of %s succeeded, but the file %s does not exist", r.name, file)
	}
	return file, nil
}

func runPip(ctx context.Context, pip []string, dir string, args []string, pinned []requirement, env []string) error {
	var lines strings.Builder
	for _, r := range pinned {
		fmt.Fprintln(&lines, r)
	}

	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, []byte(lines.String()), 0o644); err != nil {
		return fmt.Errorf("requirements: %w", err)
	}

	full := slices.Concat(pip[1:], args, []string{"--no-deps", "--require-hashes", "--progress-bar", "off", "--requirement", list})
	cmd := exec.CommandContext(ctx, pip[0], full...)

	cmd.Env = append(append(os.Environ(), "TMPDIR="+dir, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore"), env...)
	return run(cmd)
}
