package capture

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRedactionAcrossChunks puts a secret at every distance from the limit of two chunks, for the smallest and for the
// default limits of a log. No part of the secret is kept.
func TestRedactionAcrossChunks(t *testing.T) {
	const secret = "spark.hadoop.fs.s3a.secret.key=hunter2hunter2\n"
	for _, limit := range []int64{1 << 10, 256 << 10, 16 << 20} {
		for _, border := range []int{New(0, limit, NewMemory(1<<30), Redacted).chunk, ChunkSize} {
			for before := border - len(secret) - 1; before <= border+1; before += 1 + border>>14 {
				c := New(0, limit, NewMemory(1<<30), Redacted)
				_, _ = c.Write(bytes.Repeat([]byte("0123456\n"), before/8))
				_, _ = c.Write(append(bytes.Repeat([]byte("-"), before%8), '\n'))
				_, _ = c.Write([]byte(secret))
				_, _ = c.Write(bytes.Repeat([]byte("after\n"), 10))

				data, _ := c.File(0)
				if text := plain(t, data); strings.Contains(text, "unter2") || !strings.Contains(text, "secret.key=*") {
					t.Fatalf("with the limit %d and %d bytes before it, a part of the secret is kept", limit, before)
				}
			}
		}
	}
}

// TestCaptureOfBinaryLogs checks that the files of a driver and of all executors fit in a ConfigMap together, also if
// the logs cannot be compressed.
func TestCaptureOfBinaryLogs(t *testing.T) {
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}

	const driverShare = 256 << 10 // as of a ConfigMap

	for _, room := range []int{driverShare - 16<<10, driverShare / 20, driverShare / 100} {
		for _, limit := range []int64{256 << 10, 16 << 20} {
			c := New(limit/16, limit, NewMemory(1<<30), nil)
			c.Fit(room)
			_, _ = c.Write(random)

			if data, kept := c.File(room); len(data) > room || kept == 0 {
				t.Errorf("with room for %d bytes, the file has %d, and %d bytes of the log", room, len(data), kept)
			}
		}
	}
}
