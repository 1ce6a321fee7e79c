package application

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// shortageQueryDelay is how long fewer executors than wanted may exist before the operator queries the reason. A
	// shorter lack is normal, because Spark requests executors each second and replaces a lost executor.
	shortageQueryDelay = 5 * time.Second
	// startupQueryDelay is the delay before the first executor exists. It is longer than shortageQueryDelay, because
	// the driver's JVM and Spark are still starting.
	startupQueryDelay = 10 * time.Second
	// unexplainedDelay is how long fewer executors than wanted may exist before a shortage without a reason is
	// reported. It is longer than shortageQueryDelay, because a program that stops its SparkContext before its last
	// work also has no executors, and ends well.
	unexplainedDelay = 30 * time.Second
)

// missingExecutorsCause returns why the pods of wanted executors do not exist. To find the reason, the operator sends
// the API server a probe, which is the creation of a similar pod as a dry run. The API server's answer is the reason.
// No pod status contains it, and Spark only receives "forbidden" and tries again.
//
// If the reason is the same as before, the remembered message is kept. The numbers in the message of a quota change
// with every pod that is created or deleted.
func (s *step) missingExecutorsCause() lifecycle.Cause {
	if s.m.ShortSince.IsZero() {
		return lifecycle.Cause{}
	}

	short := max(s.now.Sub(s.m.ShortSince), 0)
	if left := queryDelay(s.m.Phase) - short; left > 0 {
		s.requeueAfter(left)
		return lifecycle.Cause{}
	}

	s.requeueAfter(lifecycle.QueryInterval(short))

	answer := s.seen.ProbeResult
	switch {
	case answer == nil:
		s.do(lifecycle.Confirm, lifecycle.Executors, s.m.Attempt)
		return lifecycle.Cause{}
	case answer.Reason == "" && (s.seen.QuerySkipped || s.m.Phase != lifecycle.Running):
		return lifecycle.Cause{} // there is no answer to report, or the phase itself reports the shortage
	case answer.Reason == "" && short < unexplainedDelay:
		s.requeueAfter(unexplainedDelay - short)
		return lifecycle.Cause{}
	case answer.Reason == "":
		return lifecycle.Cause{Reason: lifecycle.ReasonExecutorsMissing, Message: "fewer executors exist than the driver wants (status.executors has the counts), and the API " +
			"server would create another: read the driver's log for failed requests; a program that has stopped its SparkContext needs no executors"}
	case answer.Reason == s.stored.Cause.Reason:
		s.m.Cause = s.stored.Cause
		return s.stored.Cause
	}

	why := lifecycle.Cause{Reason: answer.Reason, Message: "executors cannot be created: " + answer.Message, Advice: answer.Advice}
	if why.Reason == lifecycle.ReasonPodInvalid {
		why.Message += "; the driver requests them again and again until the spec is edited"
	}
	return why
}

func queryDelay(phase lifecycle.Phase) time.Duration {
	if phase == lifecycle.Ready {
		return startupQueryDelay
	}
	return shortageQueryDelay
}

// lacksExecutors reports whether fewer executors exist than the application wants. Before the application runs, it
// wants its initial number of executors; afterwards, it wants the minimum number. Pending executors count as existing,
// and ended executors do not.
func (s *step) lacksExecutors() bool {
	wanted, exist := s.app.InitialExecutors, int32(0)
	if s.m.Phase.Runs() {
		wanted = s.app.MinExecutors
	}

	for i := range s.seen.Executors {
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && !endedPhase(e.Phase) {
			exist++
		}
	}
	return exist < wanted
}

// rememberShortage stores in the memory since when too few executors exist. As long as the memory contains no wait
// reason, each new executor moves this time to the creation of that executor. Otherwise a slow start would count as a
// shortage: the creation of a thousand executors normally takes a hundred seconds.
func (s *step) rememberShortage() {
	switch {
	case !s.lacksExecutors():
		s.m.ShortSince = time.Time{}
		return
	case s.m.ShortSince.IsZero():
		s.m.ShortSince = lifecycle.NotInFuture(s.seen.ShortSince, s.now)
	}

	if s.stored.Cause.Reason != "" {
		return
	}

	for i := range s.seen.Executors {
		// The clocks of other machines may differ: a time in the future would move with every pass.
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && e.CreatedAt.After(s.m.ShortSince) && !e.CreatedAt.After(s.now) {
			s.m.ShortSince = e.CreatedAt
		}
	}
}
