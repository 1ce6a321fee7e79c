package image

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// javaTarget is the class file version of the examples. Java 17 runs every Spark version from 3.5 on, and no base layer
// has an older Java version.
const javaTarget = "17"

// compiler compiles Java with the runtime in the base layer. The runtime packages of Debian and Ubuntu contain the
// module of the compiler and lack only its launcher. The machine therefore needs no JDK, and the classes do not depend
// on the JDK of a machine.
type compiler struct {
	dir   string // the unpacked runtime
	java  string
	jars  []string
	tasks int
}

// newCompiler returns a compiler. It unpacks the runtime and the jars for the class path into dir.
func newCompiler(dir, baseLayer, sparkLayer string) (*compiler, error) {
	c := &compiler{dir: dir}
	root := filepath.Join(dir, "root")

	runtime := func(name string) bool {
		return strings.HasPrefix(name, "usr/lib/jvm/") || strings.HasPrefix(name, "etc/java-")
	}
	if _, err := unpack(baseLayer, root, runtime); err != nil {
		return nil, err
	}

	found, _ := filepath.Glob(filepath.Join(root, "usr/lib/jvm/*/bin/java"))
	if len(found) == 0 {
		return nil, errors.New("the base layer has no Java runtime below /usr/lib/jvm: remove sparklocal/images/layers in the cache and build again")
	}

	c.java = found[0]

	names, err := unpack(sparkLayer, filepath.Join(dir, "spark"), isCompileJar)
	if err != nil {
		return nil, err
	}

	for _, name := range names {
		c.jars = append(c.jars, filepath.Join(dir, "spark", name))
	}
	return c, nil
}

// isCompileJar reports whether the compiler needs the jar with the given name, because the programs use its classes or
// because another needed jar depends on it. The compiler needs a tenth of all jars.
func isCompileJar(name string) bool {
	if path.Dir(name) != sparkHome+"/jars" {
		return false
	}
	return slices.ContainsFunc([]string{"spark-core_", "spark-sql_", "spark-sql-api_", "spark-common-utils_", "spark-common-utils-java_", "spark-catalyst_",
		"spark-unsafe_", "spark-tags_", "scala-library-", "hadoop-client-api-"},
		func(prefix string) bool { return strings.HasPrefix(path.Base(name), prefix) })
}

// jar compiles the sources and writes their classes to a jar. In the map `sources`, the keys are paths and the values
// are contents.
func (c *compiler) jar(ctx context.Context, sources map[string]string, file string) error {
	c.tasks++
	in, out := filepath.Join(c.dir, fmt.Sprint("source", c.tasks)), filepath.Join(c.dir, fmt.Sprint("classes", c.tasks))

	args := []string{"-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-XDignore.symbol.file", "-proc:none", "-encoding", "UTF-8",
		"-Xlint:-options", "-source", javaTarget, "-target", javaTarget, "-cp", strings.Join(c.jars, ":"), "-d", out}
	for _, name := range sortedKeys(sources) {
		source := filepath.Join(in, name)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return fmt.Errorf("java source: %w", err)
		}

		if err := os.WriteFile(source, []byte(sources[name]), 0o644); err != nil {
			return fmt.Errorf("java source: %w", err)
		}

		args = append(args, source)
	}

	if err := run(exec.CommandContext(ctx, c.java, args...)); err != nil {
		return fmt.Errorf("compile %s: %w", filepath.Base(file), err)
	}
	return zipClasses(out, file)
}

// zipClasses writes the class files in a directory to a jar, sorted and with fixed times.
func zipClasses(dir, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("jar: %w", err)
	}
	defer f.Close()

	z := zip.NewWriter(f)

	add := func(name string, content []byte) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch})
		if err != nil {
			return err
		}

		_, err = w.Write(content)
		return err
	}
	if err := add("META-INF/MANIFEST.MF", []byte("Manifest-Version: 1.0\r\n\r\n")); err != nil {
		return fmt.Errorf("jar: %w", err)
	}

	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // WalkDir uses lexical order.
		if err != nil || d.IsDir() {
			return err
		}

		content, err := os.ReadFile(p)
		if err != nil {
			return err
		}

		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(name), content)
	})
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		return fmt.Errorf("jar: %w", err)
	}
	return nil
}

// unpack writes entries of a layer to a directory, and returns their names. It writes only the files for whose names
// the given function returns true. It changes absolute links so that they point into the directory. It writes every
// entry through an os.Root, so that no entry is written outside the directory.
func unpack(layer, dir string, wanted func(name string) bool) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	var names []string

	err = eachEntry(layer, func(h *tar.Header, body io.Reader) error {
		if h.Typeflag == tar.TypeDir || !wanted(h.Name) {
			return nil
		}

		names = append(names, h.Name)
		return unpackEntry(root, h, body)
	})
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", filepath.Base(layer), err)
	}
	return names, nil
}

func unpackEntry(root *os.Root, h *tar.Header, body io.Reader) error {
	if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}

	switch h.Typeflag {
	case tar.TypeSymlink:
		target := h.Linkname
		if path.IsAbs(target) {
			target = filepath.Join(root.Name(), target)
		}
		return root.Symlink(target, h.Name)
	case tar.TypeLink:
		return root.Link(h.Linkname, h.Name)
	}

	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(h.Mode)&0o755)
	if err != nil {
		return err
	}

	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// eachEntry calls f for every entry of a layer. If f does not read the body of an entry, eachEntry seeks past it.
func eachEntry(layer string, f func(h *tar.Header, body io.Reader) error) error {
	file, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer file.Close()

	in := tar.NewReader(file)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		if err := f(h, in); err != nil {
			return err
		}
	}
}
