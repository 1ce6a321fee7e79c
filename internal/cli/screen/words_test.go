package screen

import (
	"testing"
	"time"
)

// TestShortIsKubectlsFormat checks the units and the precision of a duration, which are those of kubectl get.
func TestShortIsKubectlsFormat(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 1999 * time.Millisecond: "1s", 90 * time.Second: "90s", 2 * time.Minute: "2m", 150 * time.Second: "2m30s",
		10*time.Minute + 30*time.Second: "10m", 2 * time.Hour: "120m", 3*time.Hour + 20*time.Minute: "3h20m", 9*time.Hour + 20*time.Minute: "9h",
		3*day + 4*time.Hour: "3d4h", 30*day + time.Hour: "30d",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

// TestAge checks the age of an object, also of an object that has no time or whose time is in the future.
func TestAge(t *testing.T) {
	for at, want := range map[time.Time]string{{}: "-", time.Now().Add(time.Hour): "0s", time.Now().Add(-90*time.Minute - time.Second): "90m"} {
		if got := Age(at); got != want {
			t.Errorf("the age since %s is %s, want %s", at, got, want)
		}
	}
}
