// Package stage puts the local files of an application where the pods of the application can read them: into a
// ConfigMap if they are small, else into an object store. The name of a staged file contains a digest of its content,
// so that no content is stored twice.
package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// localFile is a local file that an application names.
type localFile struct {
	// Path is the absolute path on this machine.
	Path string
	Size int64
	// Digest is the SHA-256 of the content, in hexadecimal digits.
	Digest string
}

// Name returns the name of the file without its directory.
func (f *localFile) Name() string { return filepath.Base(f.Path) }

// fileSet contains the local files of one application.
type fileSet struct {
	// Files are the files, each once, in the order in which the application names them.
	Files  []*localFile
	byPath map[string]*localFile
}

// Size returns the number of bytes of all files.
func (s *fileSet) Size() (size int64) {
	for _, f := range s.Files {
		size += f.Size
	}
	return size
}

// findFiles reads the local files that an application names as its main file, jars, files, Python files and archives. A
// file is local if its URI has the scheme file. (Spark-submit converts plain paths into such URIs.) A pattern such as
// lib/*.jar stands for the files that match it.
func findFiles(app *v1beta2.SparkApplication) (*fileSet, error) {
	s := &fileSet{byPath: map[string]*localFile{}}

	err := walk(app, func(option, path string) (string, error) {
		if s.byPath[path] != nil {
			return "", nil
		}

		f, err := read(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", option, err)
		}

		s.byPath[path] = f
		s.Files = append(s.Files, f)
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	return s, s.checkNames()
}

// checkNames returns an error if two files have the same name and different contents. Spark copies all files of an
// application into one directory, so one of them would replace the other, or the driver would fail.
func (s *fileSet) checkNames() error {
	first := map[string]*localFile{}
	for _, f := range s.Files {
		other := first[f.Name()]
		if other == nil {
			first[f.Name()] = f
		} else if other.Digest != f.Digest {
			return fmt.Errorf("%s and %s have the same name and different contents, and Spark puts both into one directory; rename one of them",
				other.Path, f.Path)
		}
	}
	return nil
}

// rewrite replaces the URI of each local file in the application. The callback receives the option of spark-submit that
// names the file, and returns the new URI.
func (s *fileSet) rewrite(app *v1beta2.SparkApplication, uri func(option string, f *localFile) string) error {
	return walk(app, func(option, path string) (string, error) { return uri(option, s.byPath[path]), nil })
}

// These are the options of spark-submit that make Spark copy files to the driver's and the executors' working
// directories.
const (
	filesOption    = "--files"
	archivesOption = "--archives"
)

// walk calls the callback for each local file that an application names. The callback receives the option of
// spark-submit that names the file, and the path of the file. If the callback returns a URI, walk writes this URI into
// the application, with the fragment of the old URI. If it returns "", walk keeps the old URI.
func walk(app *v1beta2.SparkApplication, visit func(option, path string) (string, error)) error {
	spec := &app.Spec

	main, err := replaced("the application's file", []string{spec.MainApplicationFile}, visit)
	if err != nil {
		return err
	}

	if len(main) > 1 {
		return fmt.Errorf("the application's file %s matches several (%d); name one of them", spec.MainApplicationFile, len(main))
	}

	spec.MainApplicationFile = main[0]
	for _, list := range []struct {
		option string
		uris   *[]string
	}{
		{"--jars", &spec.Deps.Jars}, {filesOption, &spec.Deps.Files}, {"--py-files", &spec.Deps.PyFiles}, {archivesOption, &spec.Deps.Archives},
	} {
		if *list.uris, err = replaced(list.option, *list.uris, visit); err != nil {
			return err
		}
	}
	return nil
}

// replaced returns a copy of a list of URIs, in which new URIs replace the URIs of local files. The callback returns
// the new URI of a file. A URI with a pattern can stand for several files, and is then replaced by several URIs.
func replaced(option string, uris []string, visit func(option, path string) (string, error)) ([]string, error) {
	var out []string
	for _, uri := range uris {
		path, fragment, local := localPath(uri)
		if !local {
			out = append(out, uri)
			continue
		}

		paths, err := matching(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", option, err)
		}

		var staged []string
		for _, path := range paths {
			uri, err := visit(option, path)
			if err != nil {
				return nil, err
			}

			if uri != "" {
				staged = append(staged, uri+fragment)
			}
		}

		if len(staged) == 0 {
			staged = []string{uri} // visit changes nothing
		}

		out = append(out, staged...)
	}
	return out, nil
}

// localPath returns the path and the fragment of a URI that names a local file. The fragment includes the leading "#".
// For a URI whose scheme is not file, the third result is false.
func localPath(uri string) (path, fragment string, local bool) {
	text, name, hasFragment := strings.Cut(uri, "#")

	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && u.Host != "localhost" {
		return "", "", false
	}

	if hasFragment {
		fragment = "#" + name
	}

	if path = u.Path; path == "" {
		path = u.Opaque
	}
	return filepath.Clean(path), fragment, true
}

// matching returns the files that a path or a pattern names.
func matching(path string) ([]string, error) {
	if _, err := os.Stat(path); err == nil || !strings.ContainsAny(path, "*?[{") {
		return []string{path}, nil
	}

	paths, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	if len(paths) == 0 {
		return nil, fmt.Errorf("no file matches %s; %s", path, otherPlaces)
	}
	return paths, nil
}

// plainName matches the names of files that need no escapes in a URI.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._+=@-]+$`)

// otherPlaces is advice for an option that names a missing local file: it lists what the option can name instead.
const otherPlaces = "name a file of this machine, local:///PATH for a file of the image, or a URL that the driver can read"

// read returns the size and the digest of a local file.
func read(path string) (*localFile, error) {
	if name := filepath.Base(path); !plainName.MatchString(name) {
		return nil, fmt.Errorf("%s cannot be staged, because its name %q has characters that a URI escapes; rename it", path, name)
	}

	info, err := os.Stat(path) // opening a named pipe would block
	switch {
	case err != nil:
		return nil, readError(err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; name its files, for example %s, or pack it and name the archive", path, filepath.Join(path, "*"))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; copy its content into a file and name that", path)
	}

	in, err := os.Open(path)
	if err != nil {
		return nil, readError(err)
	}
	defer in.Close()

	hash := sha256.New()

	size, err := io.Copy(hash, in)
	if err != nil {
		return nil, readError(err)
	}
	return &localFile{Path: path, Size: size, Digest: hex.EncodeToString(hash.Sum(nil))}, nil
}

// readError adds advice for the user to an error about reading a local file.
func readError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; %s", err, otherPlaces)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; give yourself the right to read it (chmod u+r), or %s", err, otherPlaces)
	}
	return err
}
