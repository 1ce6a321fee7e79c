package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/local/internal/debian"
)

// release is the machine's distribution, from /etc/os-release (os-release(5)).
type release struct {
	ID       string // debian, ubuntu
	Codename string // bookworm, noble
}

// parseRelease parses an os-release file. It returns an error unless the file describes a release of Debian or Ubuntu,
// because the image is built from the packages of the distribution.
func parseRelease(text string) (release, error) {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}

		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}

		fields[name] = value
	}

	r := release{ID: fields["ID"], Codename: fields["VERSION_CODENAME"]}
	if r.ID != "debian" && r.ID != "ubuntu" {
		return release{}, fmt.Errorf("the Spark image is built from the machine's own Debian or Ubuntu packages, but this system is %q: build the image on Debian or Ubuntu", r.ID)
	}

	if r.Codename == "" {
		return release{}, errors.New("/etc/os-release has no VERSION_CODENAME: build the image on a release of Debian or Ubuntu")
	}
	return r, nil
}

// aptTarget is a package index in the machine's apt configuration.
type aptTarget struct {
	uri, suite, component string
	origin                string // the origin in its Release file; empty if the package lists have not been fetched
	source                string // the file and line (or stanza) that defines it
}

// targetFormat makes `apt-get indextargets` print one line per package index with the fields that parseTargets reads.
const targetFormat = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(SOURCESENTRY)"

func parseTargets(text string) []aptTarget {
	var targets []aptTarget
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 6 || f[0] != "Packages" {
			continue
		}

		t := aptTarget{uri: f[1], suite: f[2], component: f[3], origin: f[4], source: f[5]}
		if strings.HasPrefix(t.origin, "$(") { // apt prints the name of a field that is not set.
			t.origin = ""
		}

		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets
}

// distribution returns the package indexes of the distribution itself. It omits the indexes of vendors' repositories,
// some of which use the distribution's suite names, because packages of vendors must not get into an image.
func (r release) distribution(targets []aptTarget) []aptTarget {
	own := func(t aptTarget) bool {
		if t.origin != "" {
			return strings.EqualFold(t.origin, r.ID)
		}

		suite := t.suite == r.Codename || strings.HasPrefix(t.suite, r.Codename+"-") || strings.HasPrefix(t.suite, r.Codename+"/")
		return suite && slices.Contains([]string{"main", "universe"}, t.component)
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t aptTarget) bool { return !own(t) })
}

// sourceLines formats package indexes as lines of a sources.list(5). The function `signedBy` must return the keyrings
// with which the machine verifies a package index.
func sourceLines(targets []aptTarget, signedBy func(aptTarget) []string) string {
	var lines strings.Builder
	for _, t := range targets {
		lines.WriteString("deb ")

		if keys := signedBy(t); len(keys) > 0 {
			fmt.Fprintf(&lines, "[signed-by=%s] ", strings.Join(keys, ","))
		}

		fmt.Fprintf(&lines, "%s %s %s\n", t.uri, t.suite, t.component)
	}
	return lines.String()
}

var (
	signedByField  = regexp.MustCompile(`(?im)^signed-by:[ \t]*(.*)$`)
	signedByOption = regexp.MustCompile(`(?im)^deb\S*[ \t]+\[[^\]\n]*\bsigned-by=([^\s\]]+)`)
	blankOrComma   = regexp.MustCompile(`[\s,]+`)
)

// parseSignedBy returns the keyring files in a sources file of either format: `Signed-By: FILE` in a stanza or
// [signed-by=FILE] in a line. It omits keys that are given as a fingerprint or inline. Such a source works only if apt
// also trusts a keyring that contains the key.
func parseSignedBy(text string) []string {
	var files []string
	for _, form := range []*regexp.Regexp{signedByField, signedByOption} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			for _, file := range blankOrComma.Split(m[1], -1) {
				if strings.HasPrefix(file, "/") && !strings.ContainsAny(file, "[]") && !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
	}
	return files
}

// signedByFile returns the keyrings in the sources file that defines the given package index.
func signedByFile(t aptTarget) []string {
	file, _, _ := strings.Cut(t.source, ":")

	content, err := os.ReadFile(file)
	if err != nil {
		return nil // without the option, apt uses the keys that the machine trusts
	}
	return parseSignedBy(string(content))
}

// parseAcquire returns the options in the output of `apt-config dump` that the machine needs to reach its mirrors:
// proxies and certificates for https.
func parseAcquire(text string) []string {
	var options []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)

		name, value, _ := strings.Cut(line, " ")
		if value == `"";` || strings.HasSuffix(name, "::") {
			continue
		}

		if strings.HasPrefix(name, "Acquire::http::") || strings.HasPrefix(name, "Acquire::https::") {
			options = append(options, line)
		}
	}
	return options
}

// parseCandidate returns the candidate version in the output of `apt-cache policy PACKAGE`. If the package has no
// candidate, it returns "".
func parseCandidate(text string) string {
	for line := range strings.Lines(text) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			return version
		}
	}
	return ""
}

// hasPackage reports whether apt could install the package.
func hasPackage(ctx context.Context, name string) (bool, error) {
	out, err := output(ctx, "apt-cache", "policy", name)
	return parseCandidate(out) != "", err
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
