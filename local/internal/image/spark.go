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

	// sparkVersion is part of the Spark layer's key. Raise it when a code change makes the layer keep or drop other
	// files.
	sparkVersion = "1"
)

// SparkOptions are the options for a Spark image.
type SparkOptions struct {
	// Version is the version of Spark, one of SparkVersions.
	Version string
	// Java is the version of the Java runtime, 17 or 21. If it is 0, the first of these versions that the distribution
	// has is used.
	Java int
	// CDS adds a class-data-sharing archive, with which drivers and executors start faster.
	CDS bool
	// Tag is the only tag of the image. If it is empty, the image has the tags that SparkTags returns.
	Tag string
	// CacheDir is the directory for layers and archives; if empty, CacheDir().
	CacheDir string
	// Progress receives a line for each step; if nil, the lines are discarded.
	Progress io.Writer
}

// tags returns the names of the image.
func (o *SparkOptions) tags() []string {
	if o.Tag != "" {
		return []string{o.Tag}
	}
	return SparkTags(o.Version)
}

// archive returns the ID of the archive for the given inputs. If the user set a tag, the name of the archive contains a
// hash of the tag. Without the hash, it would replace the archive with the default tags, because the store keeps only
// the newest product of each name.
func (o *SparkOptions) archive(java int, inputs ...string) productID {
	id := productID{kind: "archives", name: fmt.Sprintf("spark-%s-java%d", o.Version, java), ext: ".tar"}
	if o.CDS {
		id.name += "-cds"
	}

	if o.Tag != "" {
		id.name += "-as-" + key(o.Tag)[:8]
		inputs = append(inputs, o.Tag)
	}

	id.key = key(inputs...)
	return id
}

// SparkTags returns the default tags of the image of a Spark version.
func SparkTags(version string) []string {
	return []string{"docker.io/apache/spark:" + version, "docker.io/library/spark:" + version}
}

// Spark builds the image of a Spark version with its tags and returns the path of its docker-archive. If the archive is
// in the cache, Spark does nothing. The first build takes a few minutes and downloads about 450 MB.
//
// A build needs apt, and installs mmdebstrap, mount and pip if they are missing. Only this installation needs root. If
// a program or package is missing and cannot be installed, the error names it.
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
		// Check the tags before the build, which takes minutes.
		if _, err := name.NewTag(tag); err != nil {
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

	cds, err := newCDS(top)
	if err != nil {
		return "", fmt.Errorf("files of the Spark image: %w", err)
	}

	inputs := []string{base.id().key, spark.id().key, top.id().key, string(configText)}
	if o.CDS {
		inputs = append(inputs, cds.id().key)
	}

	return s.product(ctx, o.archive(base.java, inputs...), func(ctx context.Context, archive string) error {
		layers, err := sparkLayers(ctx, s, base, spark, top)
		if err == nil && o.CDS {
			var path string

			path, err = cds.layer(ctx, s, layers)
			layers = append(layers, layerFile{path: path, note: "archive of classes"})
		}

		if err != nil {
			return err
		}
		defer s.log.step("archive of Spark %s", o.Version)()
		return writeArchive(archive, o.tags(), config, layers...)
	})
}

// sparkLayers builds the layers of a Spark image. The base layer and the layer with Spark need downloads, so
// sparkLayers builds them concurrently.
func sparkLayers(ctx context.Context, s *store, base base, spark sparkLayer, top *top) ([]layerFile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var basePath, sparkPath string
	build := func(path *string, layer func(context.Context, *store) (string, error)) {
		wg.Go(func() {
			var err error
			if *path, err = layer(ctx, s); err != nil {
				cancel(err) // The first error becomes the cause and cancels the other build.
			}
		})
	}
	build(&basePath, base.layer)
	build(&sparkPath, spark.layer)
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
		User:       fmt.Sprint(sparkUser), // A number, because runAsNonRoot cannot be checked for a name.
		WorkingDir: home + "/work-dir",
		Env: []string{
			"PATH=/" + javaHome + "/bin:" + home + "/bin:" + home + "/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"LANG=C.UTF-8",
			"JAVA_HOME=/" + javaHome,
			// A driver or an executor of a test lives for seconds, and compiling it with the optimizing compiler costs
			// more than its work: SparkPi takes 8 s of CPU time with that compiler and 4.2 s without, of which
			// the check of the loaded classes takes 0.5 s.
			"JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
			"SPARK_HOME=" + home,
			// The scripts put the name of the user into the names of log and PID files. Without a fixed text, a user
			// without a name would not find these files.
			"SPARK_IDENT_STRING=spark",
			"PYTHONPATH=" + home + "/python:" + home + "/python/lib/py4j-src.zip",
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":   "spark",
			"org.opencontainers.image.version": version,
		},
	}
}

// sparkLayer is the layer with Spark itself. It is built from Spark's Python source distribution, whose directory deps/
// contains the top-level directories of a binary distribution.
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

// copyDistribution copies the files that Spark needs at run time from a source distribution (.tar.gz) to their paths in
// Spark's own images.
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
			// PYTHONPATH in the image's environment contains the name py4j-src.zip, without a version.
			if err := w.symlink(path.Dir(name)+"/py4j-src.zip", base); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// distributionPath maps a path of the source distribution to a path in the image. The second result is false for files
// that the image omits: programs for Windows; programs for R, which need an R installation; native libraries of other
// systems; and the shell of Connect clients (jars/connect-repl, 55 MB).
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
