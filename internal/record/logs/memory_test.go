package logs

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestLogWithoutMemory checks that a log for which there is no memory is not kept as an empty file, that the status has
// the reason, and that the log is read again. The parts that were uploaded stay until then. Such a log was once
// reported as kept, and its parts were deleted.
func TestLogWithoutMemory(t *testing.T) {
	for name, uploaded := range map[string]bool{"read at the end": false, "uploaded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			url := "file://" + t.TempDir()
			g := &growing{}
			k := start(t, nil, func(o *Options) {
				streaming(g, url)(o)
				o.Entries[0].Wait.Duration = time.Nanosecond // the first failure is reported

				if !uploaded {
					o.Entries[0].StreamInterval.Duration = 0
				}
			})
			b := k.places.all[0].bucket

			g.write("one")

			if uploaded {
				k.Observe(kind, key, podOf("driver", "", corev1.PodRunning))
				waitUploaded(t, b, 4)
			}

			if !k.memory.Take(maxMemory) {
				t.Fatal("the memory is in use")
			}

			k.Observe(kind, key, podOf("driver", "", corev1.PodFailed))
			k.wait(t, "the problem", func() bool { return k.results[appUID].Cause.Message != "" })

			if got := k.Result(appUID); got.Cause.Reason != ReasonStore || !strings.Contains(got.Cause.Message, "memory for logs is full") || !got.KeptAt.IsZero() {
				t.Errorf("the result is %+v", got)
			}

			if index, err := b.Index(t.Context(), at); index != nil || err != nil {
				t.Errorf("the index is %+v, %v", index, err)
			}

			if uploaded {
				waitUploaded(t, b, 4)
			}

			k.memory.Give(maxMemory)
			k.wait(t, "the log", k.idle)

			if text, entry := keptIn(t, b); text != "one\n" || entry.Partial != "" || k.Result(appUID).KeptAt.IsZero() {
				t.Errorf("the kept log is %q, with %+v", text, entry)
			}
		})
	}
}
