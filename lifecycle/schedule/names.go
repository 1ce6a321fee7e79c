package schedule

import "time"

// Precision is the unit in which a run's name counts its tick.
type Precision string

// The precisions.
const (
	Nanos   Precision = "nanos"
	Micros  Precision = "micros"
	Millis  Precision = "millis"
	Seconds Precision = "seconds"
	Minutes Precision = "minutes"
)

// Times are the ticks of a schedule in its zone.
type Times struct {
	every time.Duration
}
