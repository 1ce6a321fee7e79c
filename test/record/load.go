package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// caseName matches valid names of cases. A name must also be a valid file name.
var caseName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// Cases loads the cases from the *.yaml files of a directory, in the order of the file names. It rejects unknown
// fields, duplicate names, names that are not valid file names, and files outside Dir.
func Cases(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}

	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no list of cases (*.yaml)", dir)
	}
	var cases []Case

	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		var list []Case
		if err := yaml.UnmarshalStrict(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}

		for _, c := range list {
			if err := c.check(); err != nil {
				return nil, fmt.Errorf("%s: case %q: %w", file, c.Name, err)
			}

			if other, ok := seen[c.Name]; ok {
				return nil, fmt.Errorf("%s: case %q is already in %s: choose another name", file, c.Name, other)
			}

			seen[c.Name] = file
		}

		cases = append(cases, list...)
	}
	return cases, nil
}

func (c Case) check() error {
	if !caseName.MatchString(c.Name) {
		return errors.New("the name may contain only small letters, digits, dots and dashes")
	}

	for _, version := range c.Versions {
		if strings.Count(version, ".") != 1 {
			return fmt.Errorf("versions: %q is not a Spark release line: write two numbers, such as \"4.2\"", version)
		}
	}

	for name := range c.allFiles() {
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("files: %q is not a path below %s: write a relative path that has no .. in it", name, Dir)
		}
	}

	for key := range c.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return fmt.Errorf("env: %q is not the name of a variable", key)
		}
	}

	for _, arg := range c.CommandLine() {
		if strings.Contains(arg, "\x00") {
			return errors.New("args: an argument contains a NUL, which no command line can contain")
		}
	}
	return nil
}

// allFiles returns Files and Binary together.
func (c Case) allFiles() map[string][]byte {
	files := make(map[string][]byte, len(c.Files)+len(c.Binary))
	for name, text := range c.Files {
		files[name] = []byte(text)
	}

	maps.Copy(files, c.Binary)
	return files
}

// In reports whether the case runs with the given Spark version, such as "4.1.4".
func (c Case) In(version string) bool {
	return len(c.Versions) == 0 || slices.Contains(c.Versions, Line(version))
}

// Line returns the line of a Spark version: "4.1" for "4.1.4".
func Line(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// WriteFiles writes the case's files below the given directory. The caller makes this directory available to
// spark-submit as Dir.
func (c Case) WriteFiles(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	for name, content := range c.allFiles() {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}

		if err := root.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
	}
	return nil
}

// Recordings holds all recordings of one case, as one file stores them. At most one recording contains a given version.
type Recordings struct {
	// Case is the name of the case.
	Case string `json:"case"`
	// Inputs is the value of Case.Inputs at the time of recording. If it differs from the current value, the case has
	// changed since.
	Inputs string `json:"inputs"`
	// Recordings are grouped by content: all versions that sent the same requests share one recording. The list is
	// sorted by the first version of each recording.
	Recordings []Recording `json:"recordings"`
}

// Inputs returns a digest of the inputs that spark-submit gets from the case. Fields that only control how the case is
// used, such as Live, do not count.
func (c Case) Inputs() string {
	text, err := json.Marshal([]any{Arguments(c), Environment(c), c.SystemProperties, c.allFiles()})
	if err != nil {
		panic(err) // Strings, slices and maps of them always marshal.
	}

	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Of returns the recording of a Spark version. The second result is false if the case is not recorded with this
// version.
func (r Recordings) Of(version string) (Recording, bool) {
	i := slices.IndexFunc(r.Recordings, func(recording Recording) bool { return slices.Contains(recording.Versions, version) })
	if i < 0 {
		return Recording{}, false
	}
	return r.Recordings[i], true
}

// Set replaces the recording of a Spark version. It drops other versions of the same line, because each line is
// recorded with one version. If the case has changed, Set drops all earlier recordings.
func (r *Recordings) Set(c Case, version string, added Recording) {
	if r.Case != c.Name || r.Inputs != c.Inputs() {
		*r = Recordings{Case: c.Name, Inputs: c.Inputs()}
	}

	for i := range r.Recordings {
		r.Recordings[i].Versions = slices.DeleteFunc(r.Recordings[i].Versions, func(v string) bool { return Line(v) == Line(version) })
	}

	r.Recordings = slices.DeleteFunc(r.Recordings, func(recording Recording) bool { return len(recording.Versions) == 0 })

	i := slices.IndexFunc(r.Recordings, func(recording Recording) bool { return recording.Same(added) })
	if i < 0 {
		r.Recordings = append(r.Recordings, Recording{Error: added.Error, Requests: added.Requests})
		i = len(r.Recordings) - 1
	}

	r.Recordings[i].Versions = append(r.Recordings[i].Versions, version)
	for _, recording := range r.Recordings {
		slices.SortFunc(recording.Versions, compareVersions)
	}

	slices.SortFunc(r.Recordings, func(a, b Recording) int { return compareVersions(a.Versions[0], b.Versions[0]) })
}

// Same reports whether two recordings have the same content. It ignores their versions.
func (r Recording) Same(other Recording) bool {
	return r.Error == other.Error && slices.EqualFunc(r.Requests, other.Requests, func(a, b Request) bool {
		return a.Method == b.Method && a.Path == b.Path && bytes.Equal(compact(a.Body), compact(b.Body))
	})
}

func compact(body json.RawMessage) []byte {
	var out bytes.Buffer
	if len(body) == 0 || json.Compact(&out, body) != nil {
		return body
	}
	return out.Bytes()
}

// compareVersions orders versions by their numbers: 4.10.0 follows 4.9.1.
func compareVersions(a, b string) int {
	numbers := func(v string) []int {
		var out []int
		for part := range strings.SplitSeq(v, ".") {
			n := 0
			_, _ = fmt.Sscanf(part, "%d", &n) // A part that is not a number counts as 0.
			out = append(out, n)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}

// Load reads a directory of recordings. The keys of the result are names of cases. If the directory does not exist, the
// result is empty.
func Load(dir string) (map[string]Recordings, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}

	out := make(map[string]Recordings, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		var r Recordings
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}

		if name := strings.TrimSuffix(filepath.Base(file), ".json"); r.Case != name {
			return nil, fmt.Errorf("%s has the recordings of case %q: rename the file to the name of the case", file, r.Case)
		}

		out[r.Case] = r
	}
	return out, nil
}

// Save writes the recordings of one case to the directory. It writes equal recordings as identical bytes.
func Save(dir string, r Recordings) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")

	if err := out.Encode(r); err != nil {
		return fmt.Errorf("recordings of %s: %w", r.Case, err)
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.Case+".json"), text.Bytes(), 0o644)
}
