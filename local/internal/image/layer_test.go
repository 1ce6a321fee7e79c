package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// entry summarizes a file in a layer.
type entry struct {
	Name, Link, Body string
	Mode             int64
	UID              int
	Time             time.Time
}

func entries(t *testing.T, layer string) []entry {
	t.Helper()
	var all []entry

	err := eachEntry(layer, func(h *tar.Header, r io.Reader) error {
		body, err := io.ReadAll(r)
		all = append(all, entry{h.Name, h.Linkname, string(body), h.Mode, h.Uid, h.ModTime.UTC()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// makeLayer returns the path of a new layer with the entries that the given function writes.
func makeLayer(t *testing.T, write func(w *layerWriter) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "layer.tar")

	w, err := newLayer(file)
	if err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(write(w), w.finish()); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLayerIsReproducible(t *testing.T) {
	got := entries(t, makeLayer(t, func(w *layerWriter) error {
		return errors.Join(
			w.bytes("/opt/a/x.sh", 0o755, []byte("#!")),
			w.dir("opt/w/", 0o1777, owner{185, 185}),
			w.dir("opt/w", 0o700, owner{}),
			w.symlink("../opt/a/l", "x.sh"),
		)
	}))

	want := []entry{
		{"opt/", "", "", 0o755, 0, epoch}, {"opt/a/", "", "", 0o755, 0, epoch},
		{"opt/a/x.sh", "", "#!", 0o755, 0, epoch},
		{"opt/w/", "", "", 0o1777, 185, epoch}, {"opt/a/l", "x.sh", "", 0o777, 0, epoch},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCopyBaseDropsUnwantedFiles(t *testing.T) {
	begin := time.Date(2025, 5, 5, 0, 0, 0, 0, time.UTC)
	packaged, installed := begin.Add(-24*time.Hour), begin.Add(time.Minute+time.Millisecond)
	var in bytes.Buffer

	w := tar.NewWriter(&in)
	for _, e := range []struct {
		name, body string
		kind       byte
		link       string
		time       time.Time
	}{
		{"./", "", tar.TypeDir, "", installed},
		{"./dev/", "", tar.TypeDir, "", installed},
		{"./dev/null", "", tar.TypeChar, "", installed},
		{"./etc/passwd", "root:x:0:0::/root:/bin/bash\n", tar.TypeReg, "", installed},
		{"./etc/group", "root:x:0:\n", tar.TypeReg, "", installed},
		{"./etc/hostname", "builder\n", tar.TypeReg, "", installed},
		{"./etc/resolv.conf", "nameserver 1\n", tar.TypeReg, "", installed},
		{"./etc/apt/sources.list", "deb http://mirror\n", tar.TypeReg, "", installed},
		{"./usr/lib/python3/os.py", "import", tar.TypeReg, "", packaged},
		{"./usr/bin/perl", "elf", tar.TypeReg, "", packaged},
		{"./usr/bin/perl5", "", tar.TypeLink, "./usr/bin/perl", packaged},
		{"./usr/lib/x86_64-linux-gnu/perl/5.36/x.pm", "x", tar.TypeReg, "", packaged},
		{"./var/cache/debconf/old", "x", tar.TypeReg, "", installed},
		{"./bin", "", tar.TypeSymlink, "usr/bin", packaged},
	} {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.body)), Mode: 0o644,
			ModTime: e.time, Uname: "root", Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}

		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	in.WriteString(strings.Repeat("\x00", 8192)) // Tar programs pad an archive to a multiple of the record size.

	got := entries(t, makeLayer(t, func(w *layerWriter) error { return copyBase(w, &in, begin) }))
	if in.Len() > 0 {
		t.Errorf("%d bytes are left in the pipe", in.Len())
	}

	want := []entry{
		{"dev/", "", "", 0o644, 0, epoch},
		{"etc/", "", "", 0o755, 0, epoch},
		{"etc/passwd", "", "root:x:0:0::/root:/bin/bash\nspark:x:185:185:Spark:/opt/spark/work-dir:/bin/bash\n", 0o644,
			0, epoch},
		{"etc/group", "", "root:x:0:\nspark:x:185:\n", 0o644, 0, epoch},
		{"usr/", "", "", 0o755, 0, epoch}, {"usr/lib/", "", "", 0o755, 0, epoch},
		{"usr/lib/python3/", "", "", 0o755, 0, epoch},
		{"usr/lib/python3/os.py", "", "import", 0o644, 0, packaged},
		{"usr/bin/", "", "", 0o755, 0, epoch},
		{"usr/bin/perl", "", "elf", 0o644, 0, packaged},
		{"usr/bin/perl5", "usr/bin/perl", "", 0o644, 0, packaged},
		{"bin", "usr/bin", "", 0o644, 0, packaged},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTruncatedBaseIsAnError(t *testing.T) {
	var whole bytes.Buffer

	w := tar.NewWriter(&whole)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 4096,
		Mode: 0o644})); err != nil {
		t.Fatal(err)
	}

	if _, err := w.Write(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}

	layer, err := newLayer(filepath.Join(t.TempDir(), "layer"))
	if err != nil {
		t.Fatal(err)
	}
	defer layer.abort()

	if err := copyBase(layer, bytes.NewReader(whole.Bytes()[:2000]), time.Now()); err == nil {
		t.Error("a truncated tar is accepted")
	}
}

func TestDistributionPath(t *testing.T) {
	for name, want := range map[string]string{
		"pyspark-4.1.4/deps/jars/spark-core_2.13-4.1.4.jar":                            "opt/spark/jars/spark-core_2.13-4.1.4.jar",
		"pyspark-4.1.4/deps/jars/netty-codec-native-quic-4.2.7.Final-osx-x86_64.jar":   "",
		"pyspark-4.1.4/deps/jars/netty-codec-native-quic-4.2.7.Final-linux-x86_64.jar": "opt/spark/jars/netty-codec-native-quic-4.2.7.Final-linux-x86_64.jar",
		"pyspark-4.1.4/deps/jars/connect-repl/spark-connect-client-jvm_2.13-4.1.4.jar": "",
		"pyspark-4.1.4/deps/bin/spark-submit":                                          "opt/spark/bin/spark-submit",
		"pyspark-4.1.4/deps/bin/spark-submit.cmd":                                      "",
		"pyspark-4.1.4/deps/bin/sparkR":                                                "",
		"pyspark-4.1.4/deps/sbin/spark-daemon.sh":                                      "opt/spark/sbin/spark-daemon.sh",
		"pyspark-4.1.4/deps/examples/pi.py":                                            "opt/spark/examples/src/main/python/pi.py",
		"pyspark-4.1.4/deps/data/graphx/users.txt":                                     "opt/spark/data/graphx/users.txt",
		"pyspark-4.1.4/pyspark/sql/session.py":                                         "opt/spark/python/pyspark/sql/session.py",
		"pyspark-4.1.4/lib/py4j-0.10.9.9-src.zip":                                      "opt/spark/python/lib/py4j-0.10.9.9-src.zip",
		"pyspark-4.1.4/LICENSE":                                                        "opt/spark/LICENSE",
		"pyspark-4.1.4/setup.py":                                                       "",
		"pyspark-4.1.4/pyspark.egg-info/PKG-INFO":                                      "",
		"pyspark-4.1.4/deps/jars/../../../../etc/passwd":                               "",
		"pyspark-4.1.4": "",
		"pyspark-4.1.4/deps/licenses/LICENSE-x.txt": "opt/spark/licenses/LICENSE-x.txt",
	} {
		if got, ok := distributionPath(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestCopyDistributionMapsPaths(t *testing.T) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)

	w := tar.NewWriter(zipped)
	for _, e := range []struct {
		name string
		mode int64
	}{{"pyspark-1/deps/bin/spark-submit", 0o6775}, {"pyspark-1/lib/py4j-0.10-src.zip", 0o664},
		{"pyspark-1/setup.py", 0o644}} {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: e.mode, Size: 1, Uid: 501,
			ModTime: time.Now()}); err != nil {
			t.Fatal(err)
		}

		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}

	all := entries(t, makeLayer(t, func(w *layerWriter) error { return copyDistribution(t.Context(), w, &packed) }))

	var got []entry
	for _, e := range all {
		if !strings.HasSuffix(e.Name, "/") {
			got = append(got, e)
		}
	}

	want := []entry{
		{"opt/spark/bin/spark-submit", "", "x", 0o755, 0, epoch},
		{"opt/spark/python/lib/py4j-0.10-src.zip", "", "x", 0o644, 0, epoch},
		{"opt/spark/python/lib/py4j-src.zip", "py4j-0.10-src.zip", "", 0o777, 0, epoch},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnpackRejectsPathsOutside(t *testing.T) {
	outside := t.TempDir()

	layer := makeLayer(t, func(w *layerWriter) error {
		return errors.Join(w.symlink("opt/out", filepath.Join("..", "..", "..", outside)),
			w.bytes("opt/out/evil", 0o644, []byte("x")))
	})
	if _, err := unpack(layer, t.TempDir(), func(string) bool { return true }); err == nil {
		t.Error("an entry below a link that leaves the directory was written")
	}

	if exists(filepath.Join(outside, "evil")) {
		t.Error("a file was written outside")
	}
}

func TestUnpackKeepsLinks(t *testing.T) {
	layer := makeLayer(t, func(w *layerWriter) error {
		return errors.Join(w.bytes("etc/java/conf", 0o644, []byte("c")), w.symlink("usr/lib/conf", "/etc/java/conf"),
			w.add(tar.Header{Typeflag: tar.TypeLink, Name: "usr/lib/hard", Linkname: "etc/java/conf"}, nil),
			w.bytes("tmp/no", 0o644, nil))
	})
	dir := t.TempDir()

	names, err := unpack(layer, dir, func(name string) bool { return !strings.HasPrefix(name, "tmp/") })
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"etc/java/conf", "usr/lib/conf", "usr/lib/hard"}, names); diff != "" {
		t.Error(diff)
	}

	for _, name := range names {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != "c" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

func TestArchiveHasTagsAndConfig(t *testing.T) {
	layer := makeLayer(t, func(w *layerWriter) error { return w.bytes("a/b", 0o644, []byte("text")) })
	for _, compressed := range []bool{false, true} {
		write := func(tags []string) []byte {
			path := filepath.Join(t.TempDir(), "image.tar")
			if err := writeArchive(path, tags, v1.Config{User: "185"},
				layerFile{path: layer, gzip: compressed, note: "n"}); err != nil {
				t.Fatal(err)
			}

			for _, tag := range tags {
				if diff := cmp.Diff(map[string]string{"a": "", "a/b": "text"}, contents(t, path, tag)); diff != "" {
					t.Errorf("%s, compressed %v: %s", tag, compressed, diff)
				}
			}

			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
		tags := SparkTags("4.1.4")

		first := write(tags)
		for range 5 { // The library keeps tags in a map, so its order may differ.
			if !bytes.Equal(first, write(tags)) {
				t.Error("equal inputs give different archives")
			}
		}

		if !bytes.Contains(first, []byte(`"RepoTags":["docker.io/apache/spark:4.1.4","docker.io/library/spark:4.1.4"]`)) {
			t.Error("the archive does not carry the tags as users write them")
		}
	}

	if err := writeArchive(filepath.Join(t.TempDir(), "x"), []string{"Not A Tag"}, v1.Config{}); err == nil {
		t.Error("a malformed tag is taken")
	}
}
