package logs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// finish removes a task. It stores what its end means for the attempt: the log is kept, or why it is not.
func (k *Keeper) finish(t *task, problem *lifecycle.Cause) {
	changed := k.conclude(t, problem)
	if held := k.drop(t); changed || held {
		k.Wake(t.attempt.Attempt) // after the task is removed, because the pass then deletes the pod
	}
}

// leave removes a task whose end means nothing for the attempt.
func (k *Keeper) leave(t *task) {
	if k.drop(t) {
		k.Wake(t.attempt.Attempt)
	}
}

// report stores why a log is not kept yet. The task continues.
func (k *Keeper) report(t *task, problem *lifecycle.Cause) {
	if k.conclude(t, problem) {
		k.Wake(t.attempt.Attempt)
	}
}

// drop removes a task, and reports whether a deletion may wait for it.
func (k *Keeper) drop(t *task) (held bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dropLocked(t)
}

// dropLocked is drop for a caller that holds the lock.
func (k *Keeper) dropLocked(t *task) (held bool) {
	delete(k.tasks, t.uid)

	if t.uploaded != nil {
		t.uploaded.Release()
	}

	if !t.gone {
		k.finished[t.uid] = true
	}

	a := t.attempt
	a.open--

	if a.driver == t {
		a.driver = nil
	}

	a.ended = a.ended || t.executor == "" && !t.omits
	if a.open == 0 && (a.forgotten || a.ended && a.omitted == 0) {
		delete(k.attempts, idOf(a.Attempt))
	}
	return !t.held.IsZero() && !t.late
}

// conclude changes the result of an attempt, and reports whether a pass has to store it. The problem is nil if the log
// is kept. A result that only has another place can wait for the next status write.
func (k *Keeper) conclude(t *task, problem *lifecycle.Cause) (changed bool) {
	a := t.attempt
	stored, exists := k.Stored(context.Background(), a.Attempt) // reads a cache

	k.mu.Lock()
	last, known := k.results[a.UID]

	if !known && stored != nil {
		last = *stored // by an earlier process
	}

	next := last
	if next.Attempt != a.Number {
		next = lifecycle.Logs{Attempt: a.Number}
	}

	next.Place = t.place.store.Place(a.Attempt) // a user may have written another place into the status
	if problem == nil && t.executor == "" {
		next.KeptAt = time.Now().UTC().Truncate(time.Microsecond)
	}

	next.Cause = a.cause(t, next.Cause, problem)
	if problem != nil && !t.counted {
		t.counted = true

		k.Metrics.LogNotKept(problem.Reason)
	}

	report := problem != nil && !a.reported
	a.reported = a.reported || problem != nil
	// A log of an earlier attempt than the status shows changes nothing there.
	if exists && next.Attempt >= last.Attempt {
		changed = next.KeptAt != last.KeptAt || next.Cause != last.Cause
		k.results[a.UID] = next
	}

	a.ended = a.ended || !exists // no driver's task will end the attempt
	k.mu.Unlock()

	if report {
		k.Report(a.Attempt, next.Cause.Message)
	}
	return changed
}

// cause returns why a log of the attempt is not kept, after the news about a log: the problem, or nil if it is kept.
// The argument before is the cause that was shown until now, possibly by an earlier process.
func (a *attempt) cause(t *task, before lifecycle.Cause, problem *lifecycle.Cause) lifecycle.Cause {
	if a.causes == nil {
		a.causes = map[string]lifecycle.Cause{}
	}

	log := t.describe() + " was not kept: "
	if problem != nil {
		a.causes[log] = lifecycle.Cause{Reason: problem.Reason, Message: log + lifecycle.Cut(problem.Message, maxProblem) + t.advice(problem.Reason)}
		return a.causes[log]
	}

	delete(a.causes, log)

	if !strings.HasPrefix(before.Message, log) {
		return before
	}

	for _, other := range slices.Sorted(maps.Keys(a.causes)) {
		return a.causes[other]
	}
	return lifecycle.Cause{}
}

// maxProblem is the largest size of the message about a log that was not kept, in bytes.
const maxProblem = 600

// advice returns what can be done so that the next log is kept, after a semicolon. Errors of stores have their own.
func (t *task) advice(reason string) string {
	streams := t.executor != "" || t.place.bucket == nil || t.place.entry.StreamInterval.Duration > 0

	switch {
	case reason == ReasonTimeout:
		return "; raise wait in logs of the operator's configuration, or find out why the node or the store is slow"
	case reason == ReasonForbidden:
		return "; grant the operator's service account the right to get pods/log, as the chart does if logs is set"
	case (reason == ReasonGone || reason == ReasonUnreadable) && !streams:
		return "; with streamInterval in logs of the operator's configuration, logs are uploaded while drivers run"
	}
	return ""
}

func (t *task) describe() string {
	who := "the driver"
	if t.executor != "" {
		who = "executor " + t.executor
	}
	return fmt.Sprintf("the log of %s of attempt %d (pod %s)", who, t.attempt.Number, t.pod.Name)
}

// role returns the role of the pod in metrics.
func (t *task) role() string {
	if t.executor != "" {
		return identity.RoleExecutor
	}
	return identity.RoleDriver
}
