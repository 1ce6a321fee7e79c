package telemetry

import (
	"slices"
	"strings"
	"sync"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// These constants bound the number of series that tenants can create. Tenants choose the names of namespaces, the
// labels of applications and some reasons. A value beyond a bound is counted under otherValue or otherReason.
const (
	// maxNamespaces is the largest number of values that the label app_namespace has at a time.
	maxNamespaces = 100
	// maxLabelSets is the largest number of combinations of label values, for the labels that are configured.
	maxLabelSets = 500
	// maxStates bounds the number of values of the label state. The APIs have fewer states.
	maxStates = 40
	// otherValue replaces a label value if the label already has its largest number of values.
	otherValue = "other"
	// otherReason replaces a reason that is not in the list of known reasons.
	otherReason = "Other"
)

// slots limits the number of values of a label. The first values, up to limit, are kept. Any further value becomes
// otherValue.
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
		return otherValue
	}

	s.taken[value] = true
	return value
}

// clean returns the value as valid UTF-8 of at most 63 bytes, the limit of Kubernetes for label values. The Prometheus
// client panics on invalid UTF-8, and some values come from specs that are not validated yet, such as an application's
// labels for its executors.
func clean(value string) string { return truncate(strings.ToValidUTF8(value, "?"), 63) }

// keep drops the values for which the function `used` returns false, so that other values can take their places.
func (s *slots) keep(used func(string) bool) {
	for value := range s.taken {
		if !used(value) {
			delete(s.taken, value)
		}
	}
}

// labelSets holds the combinations of values of the configured labels, at most maxLabelSets. A combination is never
// dropped, because its counters would then start at zero.
type labelSets struct {
	names []string

	mu    sync.Mutex
	known map[string][]string
}

// namespaceLabel is a label that may be configured. If an application has no label of that name, the value is the
// application's namespace.
const namespaceLabel = "namespace"

// unknownLabel is the value of a label that an application does not have.
const unknownLabel = "Unknown"

func newLabelSets(labels []string) *labelSets {
	s := &labelSets{known: map[string][]string{}}
	for _, label := range labels {
		s.names = append(s.names, labelName(label))
	}

	if len(s.names) == 0 {
		s.known[""] = nil // the only combination exists from the start
	}
	return s
}

// labelName returns the Prometheus label name for a Kubernetes label key. Forbidden characters become underscores.
func labelName(label string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, label)
}

// valuesOf returns an application's values of the configured labels, in the order of the configuration.
func (s *labelSets) valuesOf(namespace string, labels map[string]string) []string {
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

	if len(s.known) >= maxLabelSets {
		return slices.Repeat([]string{otherValue}, len(s.names))
	}

	s.known[key] = values
	return values
}

func labelValue(name, namespace string, labels map[string]string) string {
	if value, found := labels[name]; found {
		return value
	}
	// Several keys can map to one Prometheus name. The first key in order wins, so that the series is stable.
	first, value := "", unknownLabel
	if name == namespaceLabel {
		value = namespace
	}

	for key, v := range labels {
		if labelName(key) == name && (first == "" || key < first) {
			first, value = key, v
		}
	}
	return value
}

func setKey(values []string) string { return strings.Join(values, "\xff") }

func (s *labelSets) all() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()

	sets := make([][]string, 0, len(s.known))
	for _, values := range s.known {
		sets = append(sets, values)
	}
	return sets
}

// phases maps the phases to the values of the label phase.
var phases = map[lifecycle.Phase]string{lifecycle.New: "New"}

// reasons are the values of the label reason: the operator's own reasons, its phases and outcomes, and the reasons of
// Kubernetes that applications wait for in practice.
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

	for i := range cause.Rules {
		reasons[cause.Rules[i].Reason] = true
	}

	for _, reason := range []string{
		"New", "AwaitingExecutors", lifecycle.ReasonSchedulerSilent, lifecycle.ReasonSuspended, lifecycle.ReasonInvalid, lifecycle.ReasonDriverFailed,
		lifecycle.ReasonDriverDeleting, lifecycle.ReasonExecutorDeleted, lifecycle.ReasonSubmitFailed, lifecycle.ReasonSubmitterDeleted,
		lifecycle.ReasonInterrupted, lifecycle.ReasonReadyTimedOut, lifecycle.ReasonExecutorsTimedOut, lifecycle.ReasonNoAttempts, lifecycle.ReasonRestartsExhausted,
		lifecycle.ReasonPartialCapacity, lifecycle.ReasonEdited, lifecycle.ReasonRestartRequested, lifecycle.ReasonServerEnded, lifecycle.ReasonServerNotReady,
		// The operator's wait reasons and rejections.
		"ExecutorsBelowThreshold", "Invalid", "NotServed", "OperatorForbidden", "OtherOperator", "PodMutated", "SparkSubmit", "SuspendHeld", "Unavailable", "Waiting",
		"WebhookFailed", "EditedAgain", "InvalidService",
		// Reports of a queue.
		lifecycle.ReasonQuotaPending, lifecycle.ReasonQuotaRequestFailed, lifecycle.ReasonFlavorUnreadable, lifecycle.ReasonPlacement,
		lifecycle.ReasonQueueEviction, lifecycle.ReasonQuotaAdmitted, lifecycle.ReasonOtherPods,
		// Reasons why a due run of a schedule does not start.
		schedule.ReasonWaiting, schedule.ReasonReplacing, schedule.ReasonClock, "UnknownConcurrencyPolicy", "LocalTimeZone",
		// The operator's reasons for transient errors of the API server, and for errors of its own.
		"Conflict", "NoAnswer", "OperatorBug", "ServerError", "Timeout", "TooManyRequests", "Unauthorized",
		// Kubernetes' reasons for containers and pods.
		"ContainerCannotRun", "CreateContainerError", "ErrImageNeverPull", "Error", "FailedAttachVolume", "FailedCreatePodSandBox", "ImageInspectError",
		"NotTriggerScaleUp", "Pending", "RunContainerError", "StartError",
	} {
		reasons[reason] = true
	}
}

func phaseValue(phase lifecycle.Phase) string {
	if value, found := phases[phase]; found {
		return value
	}
	return otherReason
}

func reasonValue(reason string) string {
	if reasons[reason] {
		return reason
	}
	return otherReason
}
