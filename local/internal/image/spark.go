package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	sparkHome = "opt/spark"
	javaHome  = "opt/java/openjdk"

	// sparkVersion is part of the Spark layer's key. Raise it when what is kept of the distribution changes.
	sparkVersion = "1"
)

// SparkOptions say which Spark image to make.
type SparkOptions struct {
	// Version of Spark, one of SparkVersions.
	Version string
	// Java is the version of the Java runtime, 17 or 21; 0 takes the first of them that the distribution has.
	Java int
	// Tag is the image's only name; empty means SparkTags.
	Tag string
	// CacheDir keeps layers and archives; empty means CacheDir().
	CacheDir string
	// Progress gets a line for each step; nil discards them.
	Progress io.Writer
}

// tags are the names that the image gets.
func (o *SparkOptions) tags() []string {
	if o.Tag != "" {
		return []string{o.Tag}
	}
	return SparkTags(o.Version)
}

// archive is where the archive is kept, made from inputs. One with a tag of its own has another name than the usual one,
// since the store keeps only the newest of a name.
func (o *SparkOptions) archive(java int, inputs ...string) productID {
	id := productID{kind: "archives", name: fmt.Sprintf("spark-%s-java%d", o.Version, java), ext: ".tar"}
	if o.Tag != "" {
		id.name += "-as-" + key(o.Tag)[:8]
		inputs = append(inputs, o.Tag)
	}
	id.key = key(inputs...)
	return id
}

// SparkTags returns the names that the image of a Spark version has by default.
func SparkTags(version string) []string {
	return []string{"docker.io/apache/spark:" + version, "docker.io/library/spark:" + version}
}

// Spark makes the image of a Spark version under its tags and returns the path of its docker-archive. The first time takes a few minutes
// and about 450 MB of downloads; nothing is done when the archive is there already. It needs apt and pip, and root unless mmdebstrap and pip
// are installed. The error names what is missing.
func Spark(ctx context.Context, o SparkOptions) (string, error) {
	s, err := openStore(o.CacheDir, o.Progress)
	if err != nil {
		return "", err
	}
	distribution, err := sparkDistribution(o.Version)
	if err != nil {
		return "", err
	}
	for _, tag := range o.tags() {
		if _, err := name.NewTag(tag); err != nil { // told before the work of minutes, not after it
			return "", fmt.Errorf("image tag: %w", err)
		}
	}
	base, err := newBase(ctx, s, o.Java)
	if err != nil {
		return "", err
	}
	spark := sparkLayer{distribution}
	top, err := newTop(base, spark)
	if err != nil {
		return "", err
	}
	config := sparkConfig(o.Version)
	configText, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("image configuration: %w", err)
	}
	id := o.archive(base.java, base.id().key, spark.id().key, top.id().key, string(configText))
	return s.product(ctx, id, func(ctx context.Context, archive string) error {
		layers, err := sparkLayers(ctx, s, base, spark, top)
		if err != nil {
			return err
		}
		defer s.log.step("archive of Spark %s", o.Version)()
		return writeArchive(archive, o.tags(), config, layers...)
	})
}

// sparkLayers makes the layers, the two that wait for the network side by side.
func sparkLayers(ctx context.Context, s *store, base base, spark sparkLayer, top *top) ([]layerFile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var basePath, sparkPath string
	side := func(path *string, layer func(context.Context, *store) (string, error)) {
		wg.Go(func() {
			var err error
			if *path, err = layer(ctx, s); err != nil {
				cancel(err) // The first failure is the cause; the other one then ends by it.
			}
		})
	}
	side(&basePath, base.layer)
	side(&sparkPath, spark.layer)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	topPath, err := top.layer(ctx, s, basePath, sparkPath)
	if err != nil {
		return nil, err
	}
	return []layerFile{
		{path: basePath, note: "packages of " + base.release.ID + " " + base.release.Codename},
		{path: sparkPath, note: spark.name + " " + spark.version},
		{path: topPath, note: "entrypoint, scripts, examples"},
	}, nil
}

func sparkConfig(version string) v1.Config {
	home := "/" + sparkHome
	return v1.Config{
		Entrypoint: []string{"/opt/entrypoint.sh"},
		User:       fmt.Sprint(sparkUser), // A number, or runAsNonRoot cannot be checked.
		WorkingDir: home + "/work-dir",
		Env: []string{
			"PATH=/" + javaHome + "/bin:" + home + "/bin:" + home + "/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"LANG=C.UTF-8",
			"JAVA_HOME=/" + javaHome,
			"SPARK_HOME=" + home,
			// The scripts name log and process-id files after the user; a user without a name must find its files again.
			"SPARK_IDENT_STRING=spark",
			"PYTHONPATH=" + home + "/python:" + home + "/python/lib/py4j-src.zip",
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":   "spark",
			"org.opencontainers.image.version": version,
		},
	}
}

// sparkLayer is Spark itself, from its Python source distribution: deps/ there is what a binary distribution has at its top.
type sparkLayer struct{ requirement }

func (l sparkLayer) id() productID {
	return productID{kind: "layers", name: "spark-" + l.version, key: key(sparkVersion, l.String()), ext: ".tar"}
}

func (l sparkLayer) layer(ctx context.Context, s *store) (string, error) {
	return s.product(ctx, l.id(), func(ctx context.Context, file string) error {
		done := s.log.step("download of Spark %s", l.version)
		archive, err := downloadSource(ctx, s.log, l.requirement, filepath.Dir(file))
		if err != nil {
			return err
		}
		done()
		defer s.log.step("Spark layer")()
		in, err := os.Open(archive)
		if err != nil {
			return fmt.Errorf("spark layer: %w", err)
		}
		defer in.Close()
		w, err := newLayer(file)
		if err != nil {
			return err
		}
		defer w.abort()
		if err := copyDistribution(ctx, w, in); err != nil {
			return fmt.Errorf("spark layer: %w", err)
		}
		if err := w.bytes(sparkHome+"/RELEASE", 0o644, []byte("Spark "+l.version+"\n")); err != nil {
			return err
		}
		return w.finish()
	})
}

// copyDistribution copies from a source distribution (.tar.gz) what runs Spark to where Spark's images have it.
func copyDistribution(ctx context.Context, w *layerWriter, r io.Reader) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("source distribution: %w", err)
	}
	in := tar.NewReader(unzipped)
	for ctx.Err() == nil {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("source distribution: %w", err)
		}
		name, ok := distributionPath(h.Name)
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := w.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: h.Mode & 0o755, Size: h.Size}, in); err != nil {
			return err
		}
		if base := path.Base(name); strings.HasPrefix(base, "py4j-") {
			// A name without the version, for PYTHONPATH in the image's environment.
			if err := w.symlink(path.Dir(name)+"/py4j-src.zip", base); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// distributionPath maps a path of the source distribution to one of the image, and reports false for what the image leaves out: programs
// for Windows and for R, which needs an R; native libraries of other systems; and the shell of Connect clients (jars/connect-repl, 55 MB).
func distributionPath(name string) (string, bool) {
	_, name, ok := strings.Cut(path.Clean(name), "/") // The first element is pyspark-VERSION.
	if !ok {
		return "", false
	}
	base := path.Base(name)
	switch {
	case strings.HasPrefix(name, "deps/jars/"):
		foreign := strings.Contains(base, "-osx-") || strings.Contains(base, "-windows-")
		if foreign || strings.HasPrefix(name, "deps/jars/connect-repl/") {
			return "", false
		}
	case strings.HasPrefix(name, "deps/bin/"):
		if strings.HasSuffix(base, ".cmd") || base == "sparkR" || base == "docker-image-tool.sh" {
			return "", false
		}
	}
	for _, m := range [][2]string{
		{"deps/examples/", "examples/src/main/python/"},
		{"deps/bin/", "bin/"}, {"deps/sbin/", "sbin/"}, {"deps/jars/", "jars/"}, {"deps/data/", "data/"}, {"deps/licenses/", "licenses/"},
		{"pyspark/", "python/pyspark/"}, {"lib/", "python/lib/"},
	} {
		if rest, ok := strings.CutPrefix(name, m[0]); ok {
			return path.Join(sparkHome, m[1], rest), true
		}
	}
	if name == "LICENSE" || name == "NOTICE" {
		return path.Join(sparkHome, name), true
	}
	return "", false
}
