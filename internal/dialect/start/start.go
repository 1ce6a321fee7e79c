// Package start tells when the pods of an attempt became ready for work, so that users see which part of the start
// takes the time: a queue, the scheduler, an image, Spark's own start.
package start

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Next returns the start of an attempt after the stored start, which may be nil. It does not change the stored start.
// Stored fields stay, because later passes may no longer see the pod. The result is nil before the first pod.
func Next(stored *statusv1.OperatorStart, attempt int32, seen lifecycle.Observed) *statusv1.OperatorStart {
	s := statusv1.OperatorStart{Attempt: attempt}
	if stored != nil && stored.Attempt == attempt {
		s = *stored
	}

	if driver := seen.Driver(attempt); driver != nil {
		first(&s.DriverCreated, driver.CreatedAt)
		first(&s.DriverScheduled, driver.ScheduledAt)
		first(&s.DriverStarted, driver.StartedAt)
		s.DriverImage, s.DriverImageID = cmp.Or(driver.Image, s.DriverImage), cmp.Or(driver.ImageID, s.DriverImageID)
	}

	var created, scheduled, started time.Time
	for i := range seen.Executors {
		if e := &seen.Executors[i]; e.Attempt == attempt {
			created, started = earliest(created, e.CreatedAt), earliest(started, e.StartedAt)
			if e.Use.From > 0 {
				scheduled = earliest(scheduled, time.Unix(e.Use.From, 0))
			}
		}
	}

	first(&s.ExecutorCreated, created)
	first(&s.ExecutorScheduled, scheduled)
	first(&s.ExecutorStarted, started)

	if attempt == 0 || s == (statusv1.OperatorStart{Attempt: attempt}) {
		return nil
	}
	return &s
}

// first stores a time in a field that has none.
func first(field **metav1.Time, at time.Time) {
	if *field == nil && !at.IsZero() {
		*field = &metav1.Time{Time: at.UTC()}
	}
}

// earliest returns the earlier one of two times. Zero times do not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
