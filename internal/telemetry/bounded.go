package telemetry

import (
	"slices"
	"strings"
	"sync"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

// The bounds of what tenants can make of the metrics: names of namespaces, labels of applications and reasons are theirs to choose. What
// does not fit is counted all the same, under Other or OtherReason.
const (
	// MaxNamespaces is how many namespaces the label app_namespace tells apart at a time.
	MaxNamespaces = 100
	// MaxLabelSets is how many combinations of the configured labels' values are told apart, from the operator's start on.
	MaxLabelSets = 500
	// maxStates bounds the words of the APIs for where a resource stands; there are fewer.
	maxStates = 40
	// Other is the value of a label whose values are all taken.
	Other = "other"
	// OtherReason is the value of the label reason for one that is not among those that are told apart.
	OtherReason = "Other"
)

// slots gives the first values that come a place each, and Other to those that come when all places are taken.
type slots struct {
	limit int
	taken map[string]bool
}

func newSlots(limit int) slots { return slots{limit: limit, taken: map[string]bool{}} }

func (s *slots) take(value string) string {
	value = clean(value)
	if s.taken[value] {
		return value
	}
	if len(s.taken) >= s.limit {
		return Other
	}
	s.taken[value] = true
	return value
}

// clean makes a label's value of anything: text, and no longer than Kubernetes allows its own labels. What an application gives its executors was
// checked by nobody yet, and the client panics at what is no text.
func clean(value string) string { return truncate(strings.ToValidUTF8(value, "?"), 63) }

// keep frees the places of the values that are not used any more.
func (s *slots) keep(used func(string) bool) {
	for value := range s.taken {
		if !used(value) {
			delete(s.taken, value)
		}
	}
}

// labelSets reads the configured labels of applications. A counter must not lose what it counted, so that a combination of values keeps its
// place.
type labelSets struct {
	names []string

	mu    sync.Mutex
	known map[string][]string
}

// namespaceLabel is the configured label that means the namespace where an application has no label of that name.
const namespaceLabel = "namespace"

// unknownLabel is the value of a label that an application does not have.
const unknownLabel = "Unknown"

func newLabelSets(labels []string) *labelSets {
	s := &labelSets{known: map[string][]string{}}
	for _, label := range labels {
		s.names = append(s.names, LabelName(label))
	}
	if len(s.names) == 0 {
		s.known[""] = nil // the only one, from the start on
	}
	return s
}

// LabelName is the name that a Kubernetes label has as a Prometheus label: what Prometheus does not allow becomes an underscore.
func LabelName(label string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, label)
}

// of returns the values of the configured labels, in their order.
func (s *labelSets) of(namespace string, labels map[string]string) []string {
	values := make([]string, len(s.names))
	for i, name := range s.names {
		values[i] = clean(labelValue(name, namespace, labels))
	}
	key := setKey(values)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, found := s.known[key]; found {
		return known
	}
	if len(s.known) >= MaxLabelSets {
		return slices.Repeat([]string{Other}, len(s.names))
	}
	s.known[key] = values
	return values
}

func labelValue(name, namespace string, labels map[string]string) string {
	if value, found := labels[name]; found {
		return value
	}
	// Of several that are one to Prometheus the first in order counts, so that a series does not come and go.
	first, value := "", unknownLabel
	if name == namespaceLabel {
		value = namespace
	}
	for key, v := range labels {
		if LabelName(key) == name && (first == "" || key < first) {
			first, value = key, v
		}
	}
	return value
}

func setKey(values []string) string { return strings.Join(values, "\xff") }

// all returns every combination that has a place.
func (s *labelSets) all() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sets := make([][]string, 0, len(s.known))
	for _, values := range s.known {
		sets = append(sets, values)
	}
	return sets
}

// phases are the values of the label phase.
var phases = map[lifecycle.Phase]string{lifecycle.New: "New"}

// reasons are the values of the label reason: those of the operator's own, of its phases and outcomes, and those of Kubernetes that an
// application waits for in practice.
var reasons = map[string]bool{}

func init() {
	for _, phase := range []lifecycle.Phase{
		lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below, lifecycle.Unknown,
		lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing,
	} {
		phases[phase] = string(phase)
		reasons[string(phase)] = true
	}
	for _, outcome := range []lifecycle.Outcome{
		lifecycle.Succeeded, lifecycle.Failed, lifecycle.Lost, lifecycle.Evicted, lifecycle.Refused, lifecycle.StartTimedOut,
		lifecycle.ReadyTimedOut, lifecycle.ExecutorsTimedOut, lifecycle.RunTimedOut,
	} {
		reasons[string(outcome)] = true
	}
	for _, reason := range []string{
		"New", "AwaitingExecutors", lifecycle.ReasonEvicted, lifecycle.ReasonPreempted, lifecycle.ReasonSchedulerSilent, lifecycle.ReasonSuspended, lifecycle.ReasonNodeLost, lifecycle.ReasonInvalid, lifecycle.ReasonDriverLost, lifecycle.ReasonDriverFailed,
		lifecycle.ReasonDriverDeleting, lifecycle.ReasonDriverDeleted, lifecycle.ReasonExecutorDeleted, lifecycle.ReasonSubmitFailed, lifecycle.ReasonSubmitterDeleted,
		lifecycle.ReasonInterrupted, lifecycle.ReasonDeadlineExceeded, lifecycle.ReasonStartTimedOut, lifecycle.ReasonReadyTimedOut,
		lifecycle.ReasonExecutorsTimedOut, lifecycle.ReasonRunTimedOut, lifecycle.ReasonNoAttempts, lifecycle.ReasonRestartsExhausted,
		lifecycle.ReasonPartialCapacity, lifecycle.ReasonEdited,
		lifecycle.ReasonServerEnded, lifecycle.ReasonServerNotReady,
		// The operator's, of what stands in the way in the cluster.
		"ExecutorsBelowThreshold", "Forbidden", "Invalid", "NameTaken", "NotServed", "OperatorForbidden", "OtherOperator", "PodMutated",
		"PodSecurityViolation", "QuotaExceeded", "ServiceAccountNotFound", "SparkSubmit", "Unavailable", "Waiting", "WebhookFailed",
		"EditedAgain", "InvalidService",
		// Of schedules whose run is due and does not start.
		schedule.ReasonWaiting, schedule.ReasonReplacing, schedule.ReasonClock, "UnknownConcurrencyPolicy", "LocalTimeZone",
		// The operator's, of an API server that cannot do what it is asked for at the moment.
		"Conflict", "NoAnswer", "ServerError", "Timeout", "TooManyRequests", "Unauthorized",
		// Kubernetes', of containers and pods.
		"ContainerCannotRun", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "Error",
		"FailedAttachVolume", "FailedCreatePodSandBox", "FailedMount", "FailedScheduling", "ImageInspectError", "ImagePullBackOff", "InvalidImageName",
		"NotTriggerScaleUp", "OOMKilled", "Pending", "RunContainerError", "SchedulingGated", "StartError", "Unschedulable",
	} {
		reasons[reason] = true
	}
}

func phaseValue(phase lifecycle.Phase) string {
	if value, found := phases[phase]; found {
		return value
	}
	return OtherReason
}

func reasonValue(reason string) string {
	if reasons[reason] {
		return reason
	}
	return OtherReason
}
