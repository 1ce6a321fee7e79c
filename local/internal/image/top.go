package image

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sparkoperator/spark-operator/local/images"
)

// topVersion is part of the top layer's key. Raise it when a change of this code changes the content of the layer.
const topVersion = "1"

// top is the last layer of the Spark image: entrypoint, scripts, example programs and writable directories.
type top struct {
	base  base
	spark sparkLayer
	files map[string]string // paths below local/images/spark, and their content
}

func newTop(b base, s sparkLayer) (*top, error) {
	files := map[string]string{}

	err := fs.WalkDir(images.Files, "spark", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		content, err := images.Files.ReadFile(p)
		files[strings.TrimPrefix(p, "spark/")] = string(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("files of the Spark image: %w", err)
	}
	return &top{base: b, spark: s, files: files}, nil
}

func (t *top) id() productID {
	inputs := []string{topVersion, t.base.id().key, t.spark.id().key}
	for _, name := range sortedKeys(t.files) {
		if !strings.HasPrefix(name, "requirements") {
			inputs = append(inputs, name, t.files[name])
		}
	}
	return productID{kind: "layers", name: fmt.Sprintf("top-%s-java%d", t.spark.version, t.base.java), key: key(inputs...), ext: ".tar"}
}

func (t *top) layer(ctx context.Context, s *store, basePath, sparkPath string) (string, error) {
	return s.product(ctx, t.id(), func(ctx context.Context, file string) error {
		defer s.log.step("top layer: scripts and example programs")()

		dir := filepath.Dir(file)

		c, err := newCompiler(filepath.Join(dir, "java"), basePath, sparkPath)
		if err != nil {
			return err
		}

		for _, jar := range []string{"examples", "failures"} {
			if err := c.jar(ctx, t.filesBelow("java/"+jar+"/"), filepath.Join(dir, jar+".jar")); err != nil {
				return err
			}
		}

		facts, err := inspect(basePath, sparkPath)
		if err != nil {
			return err
		}

		w, err := newLayer(file)
		if err != nil {
			return err
		}
		defer w.abort()

		if err := t.write(w, facts, dir); err != nil {
			return err
		}
		return w.finish()
	})
}

// filesBelow returns the files in a directory of the layer's sources. The keys are the paths within that directory.
func (t *top) filesBelow(dir string) map[string]string {
	files := map[string]string{}
	for name, content := range t.files {
		if rest, ok := strings.CutPrefix(name, dir); ok {
			files[rest] = content
		}
	}
	return files
}

// facts are the properties of the lower layers that determine the content of the top layer.
type facts struct {
	jvm   string          // the directory of the Java runtime
	scala string          // 2.12 or 2.13
	sbin  map[string]bool // the scripts that Spark contains itself
}

var scalaLibrary = regexp.MustCompile(`^scala-library-(\d+\.\d+)\.`)

func inspect(basePath, sparkPath string) (facts, error) {
	f := facts{sbin: map[string]bool{}}

	visit := func(h *tar.Header, _ io.Reader) error {
		dir, base := path.Split(h.Name)
		if path.Base(h.Name) == "java" && path.Base(path.Dir(h.Name)) == "bin" && strings.HasPrefix(dir, "usr/lib/jvm/") {
			f.jvm = path.Dir(path.Dir(h.Name))
		}

		if m := scalaLibrary.FindStringSubmatch(base); m != nil {
			f.scala = m[1]
		}

		if dir == sparkHome+"/sbin/" {
			f.sbin[base] = true
		}
		return nil
	}
	for _, layer := range []string{basePath, sparkPath} {
		if err := eachEntry(layer, visit); err != nil {
			return facts{}, fmt.Errorf("read layer: %w", err)
		}
	}

	if f.jvm == "" || f.scala == "" {
		return facts{}, fmt.Errorf("the layers lack a Java runtime (found %q) or the Scala library (found version %q): remove sparklocal/images/layers in the cache and build again", f.jvm, f.scala)
	}
	return f, nil
}

// write writes the layer. The parameter `dir` is the directory that contains the jars of the layer.
func (t *top) write(w *layerWriter, f facts, dir string) error {
	steps := []func() error{
		func() error { return w.symlink(javaHome, "/"+f.jvm) },
		func() error { return w.bytes("opt/entrypoint.sh", 0o755, []byte(t.files["entrypoint.sh"])) },
		func() error { return w.bytes("opt/decom.sh", 0o755, []byte(t.files["decom.sh"])) },
		func() error { return t.scripts(w, f) },
		func() error { return t.examples(w, f, dir) },
	}
	// Spark may run as any user, and writes to these directories if no volume is mounted.
	for _, name := range []string{"work-dir", "work", "logs"} {
		steps = append(steps, func() error { return w.dir(sparkHome+"/"+name, 0o1777, owner{sparkUser, sparkUser}) })
	}

	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// scripts writes the start and stop scripts that this Spark version lacks.
func (t *top) scripts(w *layerWriter, f facts) error {
	scripts := t.filesBelow("sbin/")
	for _, name := range sortedKeys(scripts) {
		if f.sbin[name] {
			continue
		}

		if err := w.bytes(sparkHome+"/sbin/"+name, 0o755, []byte(scripts[name])); err != nil {
			return err
		}
	}
	return nil
}

func (t *top) examples(w *layerWriter, f facts, dir string) error {
	jars := sparkHome + "/examples/jars/"
	if err := w.copyFile(jars+"spark-examples.jar", 0o644, filepath.Join(dir, "examples.jar")); err != nil {
		return err
	}

	if err := w.symlink(jars+"spark-examples_"+f.scala+"-"+t.spark.version+".jar", "spark-examples.jar"); err != nil {
		return err
	}

	if err := w.copyFile(jars+"spark-failures.jar", 0o644, filepath.Join(dir, "failures.jar")); err != nil {
		return err
	}

	python := t.filesBelow("python/")
	for _, name := range sortedKeys(python) {
		if err := w.bytes(sparkHome+"/examples/src/main/python/failures/"+name, 0o644, []byte(python[name])); err != nil {
			return err
		}
	}
	return nil
}
