package image

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sparkoperator/spark-operator/local/images"
)

// cdsVersion is part of the key of the layer with the class-data-sharing archive. Raise it when a code change makes the
// archive differ.
const cdsVersion = "1"

// cdsLayer is a layer above a Spark image with a class-data-sharing archive of the classes that a driver and an
// executor load. The image's own JVM makes the archive, because a JVM accepts only archives of its own build.
type cdsLayer struct {
	top    *top
	source string // of the Java program that makes the archive
}

func newCDS(t *top) (cdsLayer, error) {
	source, err := images.Files.ReadFile("cds/ClassArchive.java")
	return cdsLayer{t, string(source)}, err
}

func (l cdsLayer) id() productID {
	id := l.top.id()
	return productID{kind: "layers", name: "cds-" + id.name, key: key(cdsVersion, id.key, l.source), ext: ".tar"}
}

// enterImage runs the Java program in the root file system $0.
const enterImage = `
set -e
mkdir -p "$0/dev" "$0/proc"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
exec chroot "$0" /usr/bin/env -i PATH="$1/bin:/usr/bin:/bin" LANG=C.UTF-8 JAVA_HOME="$1" SPARK_HOME="$2" "$1/bin/java" -cp "$2/jars/*" /ClassArchive.java
`

// layer returns the path of the layer. It unpacks the layers below into a root file system and runs the program there,
// in namespaces of its own. Users other than root need user namespaces.
func (l cdsLayer) layer(ctx context.Context, s *store, below []layerFile) (string, error) {
	return s.product(ctx, l.id(), func(ctx context.Context, file string) error {
		defer s.log.step("archive of classes: a driver and an executor run")()

		root := filepath.Join(filepath.Dir(file), "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			return fmt.Errorf("root file system: %w", err)
		}

		for _, layer := range below { // tar keeps the times of the jars, which the archive contains
			if err := run(exec.CommandContext(ctx, "tar", "-x", "-p", "-C", root, "-f", layer.path)); err != nil {
				return fmt.Errorf("root file system: %w", err)
			}
		}

		if err := os.WriteFile(filepath.Join(root, "ClassArchive.java"), []byte(l.source), 0o644); err != nil {
			return fmt.Errorf("archive of classes: %w", err)
		}

		args := []string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enterImage, root, "/" + javaHome, "/" + sparkHome}
		if os.Getuid() != 0 {
			args = append([]string{"--map-root-user"}, args...)
		}

		if err := run(exec.CommandContext(ctx, "unshare", args...)); err != nil {
			return fmt.Errorf("archive of classes: %w", err)
		}
		return l.write(root, file)
	})
}

func (l cdsLayer) write(root, file string) error {
	w, err := newLayer(file)
	if err != nil {
		return err
	}
	defer w.abort()

	for _, name := range []string{sparkHome + "/cds/spark.jar", sparkHome + "/cds/spark.jsa"} {
		f, err := os.Open(filepath.Join(root, name))
		if err != nil {
			return fmt.Errorf("archive of classes: %w", err)
		}
		defer f.Close()

		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("archive of classes: %w", err)
		}
		// The archive is valid only for a jar with the time that the archive contains.
		if err := w.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size(), ModTime: info.ModTime()}, f); err != nil {
			return err
		}
	}
	return w.finish()
}
