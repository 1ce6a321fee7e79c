package debian

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Release is the machine's distribution, from /etc/os-release (os-release(5)).
type Release struct {
	ID       string // debian, ubuntu
	Codename string // bookworm, noble
}

// ParseRelease parses an os-release file. It returns an error unless the file describes a release of Debian or Ubuntu,
// because the image is built from the packages of the distribution.
func ParseRelease(text string) (Release, error) {
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

	r := Release{ID: fields["ID"], Codename: fields["VERSION_CODENAME"]}
	if r.ID != "debian" && r.ID != "ubuntu" {
		return Release{}, fmt.Errorf("the Spark image is built from the machine's own Debian or Ubuntu packages, but this system is %q: build the image on Debian or Ubuntu", r.ID)
	}

	if r.Codename == "" {
		return Release{}, errors.New("/etc/os-release has no VERSION_CODENAME: build the image on a release of Debian or Ubuntu")
	}
	return r, nil
}

// Target is a package index in the machine's apt configuration.
type Target struct {
	uri, suite, component string
	origin                string // the origin in its Release file; empty if the package lists have not been fetched
	source                string // the file and line (or stanza) that defines it
}

// TargetFormat makes `apt-get indextargets` print one line per package index with the fields that ParseTargets reads.
const TargetFormat = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(SOURCESENTRY)"

// ParseTargets returns the package indexes in the output of `apt-get indextargets` with TargetFormat.
func ParseTargets(text string) []Target {
	var targets []Target
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 6 || f[0] != "Packages" {
			continue
		}

		t := Target{uri: f[1], suite: f[2], component: f[3], origin: f[4], source: f[5]}
		if strings.HasPrefix(t.origin, "$(") { // apt prints the name of a field that is not set.
			t.origin = ""
		}

		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets
}

// Distribution returns the package indexes of the distribution itself. It omits the indexes of vendors' repositories,
// some of which use the distribution's suite names, because packages of vendors must not get into an image.
func (r Release) Distribution(targets []Target) []Target {
	own := func(t Target) bool {
		if t.origin != "" {
			return strings.EqualFold(t.origin, r.ID)
		}

		suite := t.suite == r.Codename || strings.HasPrefix(t.suite, r.Codename+"-") || strings.HasPrefix(t.suite, r.Codename+"/")
		return suite && slices.Contains([]string{"main", "universe"}, t.component)
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return !own(t) })
}

// SourceLines formats package indexes as lines of a sources.list(5). The function `signedBy` must return the keyrings
// with which the machine verifies a package index.
func SourceLines(targets []Target, signedBy func(Target) []string) string {
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

// SignedByFile returns the keyrings in the sources file that defines the given package index.
func SignedByFile(t Target) []string {
	file, _, _ := strings.Cut(t.source, ":")

	content, err := os.ReadFile(file)
	if err != nil {
		return nil // without the option, apt uses the keys that the machine trusts
	}
	return parseSignedBy(string(content))
}

// ParseAcquire returns the options in the output of `apt-config dump` that the machine needs to reach its mirrors:
// proxies and certificates for https.
func ParseAcquire(text string) []string {
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

// ParseCandidate returns the candidate version in the output of `apt-cache policy PACKAGE`. If the package has no
// candidate, it returns "".
func ParseCandidate(text string) string {
	for line := range strings.Lines(text) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			return version
		}
	}
	return ""
}
