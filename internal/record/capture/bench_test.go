package capture

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkLog measures what a log of 1 MiB costs, without the requests. The bound of docs/decisions/0060 is 30 ms of
// CPU and 8 MB for each application.
func BenchmarkLog(b *testing.B) {
	var log bytes.Buffer
	for i := 0; log.Len() < 1<<20; i++ {
		fmt.Fprintf(&log, "26/11/29 10:%02d:%02d INFO TaskSetManager: Finished task %d.0 in stage %d.0 (TID %d) in %d ms on 10.0.%d.%d (executor %d) (%d/%d)\n",
			i/60%60, i%60, i%200, i/200, i, i*7919%5000, i%256, i*31%256, i%20, i%200, 200)
	}

	m := NewMemory(64 << 20)

	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()

	for b.Loop() {
		c := New(1<<20, 16<<20, m, nil)
		_, _ = c.Write(log.Bytes())
		data, _ := c.File(0)
		b.ReportMetric(float64(len(data)), "compressed")
		c.Release()
	}
}
