package fence

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
)

// managerLog is the log of a manager whose leader is elected by a lock.
type managerLog struct {
	logr.LogSink
	lock *Lock
	// elector is true for the log of the elector, whose requests a stop cancels.
	elector bool
}

// ManagerLog returns the log for a manager whose leader is elected by this lock. The manager reports as an error that
// the leadership has ended while it stops. That is an error only if the lease was lost; a replica that gives its lease
// up, or never had it, stops without an error.
func (l *Lock) ManagerLog(log logr.Logger) logr.Logger {
	return log.WithSink(managerLog{LogSink: log.GetSink(), lock: l})
}

// Error implements logr.LogSink.
func (m managerLog) Error(err error, message string, values ...any) {
	// The manager's error has no type, so its texts must be compared. TestStopLogsNoError fails if they change.
	ended := err != nil && err.Error() == "leader election lost" && message == "error received after stop sequence was engaged"
	if ended && (m.lock.released.Load() || m.lock.Lead.TermNumber() == 0) {
		return
	}

	if m.elector && errors.Is(err, context.Canceled) {
		return
	}

	m.LogSink.Error(err, message, values...)
}

// WithValues implements logr.LogSink.
func (m managerLog) WithValues(values ...any) logr.LogSink {
	m.LogSink = m.LogSink.WithValues(values...)
	return m
}

// WithName implements logr.LogSink.
func (m managerLog) WithName(name string) logr.LogSink {
	m.LogSink = m.LogSink.WithName(name)
	m.elector = m.elector || name == "leaderelection"
	return m
}
