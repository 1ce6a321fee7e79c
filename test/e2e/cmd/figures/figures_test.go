package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const audit = `{"stage":"RequestReceived","verb":"create","stageTimestamp":"2026-01-01T00:00:00.000000Z","objectRef":{"resource":"sparkapplications"}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.001000Z","objectRef":{"resource":"sparkapplications","name":"l-1"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.002000Z","objectRef":{"resource":"sparkapplications","name":"l-2"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.003000Z","objectRef":{"resource":"pods","name":"l-2-driver"},"responseStatus":{"code":409}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.004000Z","objectRef":{"resource":"pods","subresource":"binding","name":"l-2-driver"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.012345Z","objectRef":{"resource":"pods","name":"l-2-driver"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.013000Z","objectRef":{"resource":"sparkapplications","subresource":"status","name":"l-2"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.021000Z","objectRef":{"resource":"pods","name":"l-1-driver"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-01T00:00:00.030000Z","objectRef":{"resource":"pods","name":"other"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.040000Z","objectRef":{"resource":"pods","subresource":"status","name":"l-2-driver"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.041000Z","objectRef":{"resource":"sparkapplications","subresource":"status","name":"l-1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.042000Z","objectRef":{"resource":"sparkapplications","subresource":"status","name":"l-2"},"responseStatus":{"code":409}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.047000Z","objectRef":{"resource":"sparkapplications","subresource":"status","name":"l-2"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-01-01T00:00:00.049000Z","objectRef":{"resource":"sparkapplications","subresource":"status","name":"l-2"},"responseStatus":{"code":200}}
{"stage":"Response`

func TestReadSpeedMeasuresBetweenResponses(t *testing.T) {
	got, err := readSpeed(strings.NewReader(audit), "l-")
	if err != nil {
		t.Fatal(err)
	}

	want := speed{
		driver: []time.Duration{10345 * time.Microsecond, 20 * time.Millisecond},
		status: []time.Duration{7 * time.Millisecond}, // a rejected write and a second write add no measurement
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(speed{})); diff != "" {
		t.Errorf("speed (-want +got):\n%s", diff)
	}

	if _, err := readSpeed(strings.NewReader("no JSON\n"), "l-"); err == nil {
		t.Error("an invalid line is accepted")
	}
}

func TestMedianOfSamples(t *testing.T) {
	for _, test := range []struct{ in, want []time.Duration }{
		{[]time.Duration{3}, []time.Duration{3}},
		{[]time.Duration{9, 1, 2}, []time.Duration{2}},
		{[]time.Duration{10, 1, 4, 2}, []time.Duration{3}},
	} {
		if got := median(test.in); got != test.want[0] {
			t.Errorf("median(%v) = %v, want %v", test.in, got, test.want[0])
		}
	}
}

// TestCompressedSizeIgnoresExistingCompression checks that compressedSize returns the same size whether or not the
// layers in the archive are already compressed.
func TestCompressedSizeIgnoresExistingCompression(t *testing.T) {
	plain := bytes.Repeat([]byte("layer "), 10000)
	var packed bytes.Buffer

	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil || z.Close() != nil {
		t.Fatal(err)
	}

	size := func(content []byte) int64 {
		path := filepath.Join(t.TempDir(), "image.tar")

		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}

		w := tar.NewWriter(f)
		for _, err := range []error{
			w.WriteHeader(&tar.Header{Name: "dir", Typeflag: tar.TypeDir}),
			w.WriteHeader(&tar.Header{Name: "layer.tar", Typeflag: tar.TypeReg, Size: int64(len(content))}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}

		if _, err := w.Write(content); err != nil || w.Close() != nil || f.Close() != nil {
			t.Fatal(err)
		}

		n, err := compressedSize(path)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := size(plain), size(packed.Bytes()); a != b || a != int64(packed.Len()) {
		t.Errorf("plain layer %d, packed layer %d, want %d for both", a, b, packed.Len())
	}

	if _, err := compressedSize(filepath.Join(t.TempDir(), "none.tar")); err == nil {
		t.Error("a missing archive has a size")
	}
}

func TestSampleReadsTheExactMetric(t *testing.T) {
	text := []byte("# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes_max 1\nprocess_resident_memory_bytes 3.5e+07\n")
	if got, err := sample(text, "process_resident_memory_bytes"); err != nil || got != 35_000_000 {
		t.Errorf("sample = %d, %v; want 35000000", got, err)
	}

	if _, err := sample(text, "other"); err == nil {
		t.Error("a missing metric has a value")
	}
}
