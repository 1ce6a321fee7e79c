// Package lifecycle defines the types of decisions about Spark resources: the desired state (App), the remembered state
// (Memory), the observed state (Observed), and the decision (Plan).
//
// The state machines are in the packages below this package (application, schedule, connect, cluster). They are pure
// functions of their arguments: they use no clock, no cluster and no randomness. The dialects translate custom
// resources into these types, and decisions into statuses. The controller turns the actions of a Plan into API calls.
// No type in this package is specific to one of the two API groups.
package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Phase is the position of an application in its life cycle. Both API groups have fewer states than there are phases,
// so a dialect maps each phase to a state.
type Phase string

// These are the phases of an application. In each phase that is not Terminal, the application waits for a deadline, a
// timer or an event that the state machine's table Waits names.
const (
	New Phase = "" // no pass has handled the application; nothing was created
	// Waiting is the time before another attempt: until the back-off is over and the last attempt's objects are
	// deleted.
	Waiting  Phase = "Waiting"
	Launched Phase = "Launched" // the attempt's objects exist; the driver container does not run yet
	Started  Phase = "Started"  // the driver container runs, the pod is not Ready yet
	Ready    Phase = "Ready"    // the driver pod is Ready; no executor was observed yet
	Scaling  Phase = "Scaling"  // executors start; fewer than the initial threshold run
	Running  Phase = "Running"  // enough executors run (or no threshold is set)
	Partial  Phase = "Partial"  // fewer executors run than Thresholds.Max
	Below    Phase = "Below"    // fewer executors run than Thresholds.Min
	Unknown  Phase = "Unknown"  // the driver's node does not respond, so the state of the driver is unknown
	// Ended means that the attempt has ended, but the next step still waits, for example until the driver no longer
	// exists.
	Ended      Phase = "Ended"
	Retained   Phase = "Retained"   // the application has ended permanently; the driver pod is kept
	Done       Phase = "Done"       // the application has ended permanently; no object is left to delete
	Suspending Phase = "Suspending" // a suspension is requested; the attempt's objects are being deleted
	Suspended  Phase = "Suspended"  // suspended until the suspension is lifted
	Resuming   Phase = "Resuming"   // the suspension was lifted; the next attempt is about to be launched
	Editing    Phase = "Editing"    // the spec changed; the attempt of the old spec is being deleted
)

// Terminal reports whether the application has ended permanently. It then only expires, unless it is edited or a
// restart is requested.
func (p Phase) Terminal() bool { return p == Retained || p == Done }

// Live reports whether the current attempt should have a driver pod in this phase.
func (p Phase) Live() bool {
	switch p {
	case Launched, Started, Ready, Scaling, Running, Partial, Below, Unknown:
		return true
	}
	return false
}

// Runs reports whether the attempt has completed its start and its driver still runs. The number of executors does not
// matter.
func (p Phase) Runs() bool { return p == Running || p == Partial || p == Below }

// Outcome says how an attempt ended. It is empty while the attempt runs.
type Outcome string

// The outcomes of an attempt.
const (
	Undecided Outcome = ""
	Succeeded Outcome = "Succeeded" // the driver container exited 0
	Failed    Outcome = "Failed"    // the driver container ended with another exit code
	Lost      Outcome = "Lost"      // the driver pod no longer exists, and its end was not observed
	Evicted   Outcome = "Evicted"   // the driver pod was evicted or preempted
	// Refused means that the attempt could not be rendered, or that the API server rejected one of its objects.
	Refused           Outcome = "Refused"
	StartTimedOut     Outcome = "StartTimedOut"     // Deadlines.DriverStart passed
	ReadyTimedOut     Outcome = "ReadyTimedOut"     // Deadlines.DriverReady passed
	ExecutorsTimedOut Outcome = "ExecutorsTimedOut" // Deadlines.ExecutorsStart passed
	RunTimedOut       Outcome = "RunTimedOut"       // Deadlines.Run passed
)

// Cause explains a phase or an outcome. It consists of a CamelCase reason for programs and a sentence for people. The
// zero value means that there is no cause.
type Cause struct {
	Reason  string
	Message string
	// Advice says what to do about the cause; empty if that is unknown.
	Advice string
	// Log is the end of the log of the container whose end the cause explains. It is empty if the message has it all.
	Log string
}

// Memory is the part of the state that cannot be observed again, so that one decision must pass it to the next. Each
// dialect stores the memory in its status. Storing a memory and reading it again must not change it.
type Memory struct {
	Phase Phase
	Since time.Time // when Phase was entered
	// Attempt is the number of the current or last attempt, counted from 1; 0 before the first attempt. A number is
	// never reused, even after an edit.
	Attempt int32
	// AttemptID is the submission id of the current or last attempt. It is computed at the launch; afterwards it is
	// read from this field.
	AttemptID string
	SpecHash  string // of the spec that the attempt was launched from
	// RestartRequest is the last restart request that was carried out (App.RestartRequest); empty if there was none.
	RestartRequest string
	// Runs is the number of attempts whose objects were all created. It counts from the last edit or from the last run
	// that lasted for Restart.ResetAfter.
	Runs          int32
	Submissions   int32 // number of launches, counted from the same time, including rejected ones
	SuspendedRuns int32 // number of Runs that a suspension stopped: they use up no retry
	SubmittedAt   time.Time
	UngatedAt     time.Time // when the attempt's driver pod, or later its executors, lost the gates that delayed them
	// EndedAt is the end of the last attempt. It is zero while an attempt runs, and in Suspending if the suspension
	// stops a live attempt.
	EndedAt     time.Time
	NextAttempt time.Time // when a waiting retry is due; zero if no retry waits
	// ShortSince is the time since when fewer executors exist than are wanted and no new executor was created. It is
	// zero while enough executors exist.
	ShortSince         time.Time
	Restarts           Restarts // the counts for Restart.Limits; zero if Limits is not set
	PhaseBeforeUnknown Phase    // in Unknown and with App.Thresholds: the phase before the node was lost; else New
	// EnoughExecutors is the largest threshold that the running executors of the attempt reached: Thresholds.Min or
	// Thresholds.Max. It is 0 if they reached none, and if the attempt waits for initial executors.
	EnoughExecutors int32
	Outcome         Outcome // of the last ended attempt; in Waiting, the retry depends on it
	Cause           Cause   // the cause of Outcome, or the wait reason of a live phase
	// ExecutorFailure is why the executor of the attempt failed that was created last; zero if none failed.
	ExecutorFailure Cause
	// FailedExecutorCreatedAt is when that executor was created.
	FailedExecutorCreatedAt time.Time
	// Logs says where the logs of the last attempt are that had any; zero if logs are not kept.
	Logs Logs
}

// Corrected returns the memory with corrected times (CorrectTimes), in case the operator's clock went back, or another
// replica with an earlier clock took over. NextAttempt keeps its distance from the time at which it was stored, which
// is Since.
func (m Memory) Corrected(now time.Time) Memory {
	if ahead := m.Since.Sub(now); ahead > 0 && !m.NextAttempt.IsZero() {
		m.NextAttempt = m.NextAttempt.Add(-ahead)
	}

	CorrectTimes(now, &m.Since, &m.SubmittedAt, &m.UngatedAt, &m.EndedAt, &m.ShortSince)
	return m
}

// StopDuration is the time in which a driver that stops exits. It deletes its own Service at the beginning of that time
// (KubernetesClusterSchedulerBackend.stop with spark.kubernetes.driver.service.deleteOnTermination), so objects of a
// live driver are created again only if they have been missing for longer.
const StopDuration = 5 * time.Second

// DriverPhase is the state of a pod, in as much detail as decisions need.
type DriverPhase string

// These are the phases of a driver. They also apply to other pods.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded" // the Spark container exited 0, whatever its sidecars do
	DriverFailed    DriverPhase = "Failed"
	DriverUnknown   DriverPhase = "Unknown" // its node is lost
)

// Driver contains the facts about one driver pod.
type Driver struct {
	Name     string
	UID      string
	Attempt  int32 // from the pod's attempt label
	Phase    DriverPhase
	Ready    bool
	Address  string // of the pod; empty until the pod has an address
	Deleting bool   // has a deletion timestamp
	// GoneBy is the deletion timestamp: the time at which the pod's grace period ends. It is zero while the pod is not
	// being deleted.
	GoneBy time.Time
	// Finalizers are finalizers that keep the pod after its deletion. Other programs set and remove them.
	Finalizers []string
	// Lingering is the name of a container that still runs although the Spark container has ended; empty if none does.
	Lingering string
	// MissingObjects is the number of the attempt's objects besides pods that the operator created for the driver and
	// that no longer exist. It is 0 if the operator did not create the driver.
	MissingObjects int32
	// NodeLostSince is when Kubernetes found that the node of a driver in the phase DriverUnknown does not respond. It
	// is zero if that time is unknown. A node counts as lost only some time after NodeLostSince, because a node that
	// still works soon corrects the status of its pods.
	NodeLostSince time.Time
	AppID         string
	CreatedAt     time.Time
	StartedAt     time.Time // of the Spark container; zero before that time
	ReadyAt       time.Time // when the pod last became Ready; zero while it is not
	EndedAt       time.Time // of the Spark container; zero before that time
	ExitCode      int32     // valid only if HasExit is true
	HasExit       bool
	Evicted       bool
	// SpecHash is the hash of the spec from which the pod was created; empty if the pod has no such hash. If the
	// operator died between a launch and its status write, this hash identifies the spec of the attempt, even after an
	// edit.
	SpecHash string
	// RestartRequest is the restart request of the custom resource from which the pod was created
	// (RestartRequestAnnotation). It is empty if the custom resource had none.
	RestartRequest string
	// Submitter is the name of the pod that ran spark-submit to create this pod; empty if the operator created it.
	Submitter string
	// AttemptID is the attempt's id if another operator launched it. It is empty if the id follows from the attempt's
	// number (see the function AttemptID).
	AttemptID string
	// SparkVersion is the version label of the pod. It contains the declared version if the operator created the pod,
	// and the version of the image if spark-submit did. It is empty if the pod has no such label.
	SparkVersion string
	// Image is that of the Spark container, and ImageID is how the node identifies it; empty until the node reports it.
	Image, ImageID string
	// MissingConfigMap is set if a live read found that the pod waits for a ConfigMap that will never be created. This
	// is so if the submitter died after it created the pod and before it created the ConfigMap. The field is meaningful
	// only if Observed.Inspected reports such a read.
	MissingConfigMap bool
	// UnresponsiveScheduler is the name of the scheduler that has not handled the pod yet; see the function
	// UnresponsiveScheduler.
	UnresponsiveScheduler string
	Gated                 bool // the pod has scheduling gates, which a queue removes
	// ScheduledAt is when the pod was assigned to a node; zero if it has no node yet.
	ScheduledAt time.Time
	Use         PodUse
	// Why is the best explanation of a failure, or the wait reason of a pending pod (image, volume, node, quota...).
	Why Cause
	// Status is the pod's own status, which must not be changed. Callers store what it says about the end of the pod. No
	// decision depends on it.
	Status *corev1.PodStatus
}

// Submitter contains the facts about a pod that runs spark-submit to create an attempt's driver pod. A submitter can
// create at most one driver pod, because the name of the driver pod is fixed before the submitter starts.
type Submitter struct {
	Name      string
	UID       string
	Attempt   int32
	Phase     DriverPhase
	Deleting  bool      // has a deletion timestamp
	GoneBy    time.Time // the deletion timestamp; zero while the pod is not being deleted
	CreatedAt time.Time
	EndedAt   time.Time // zero while spark-submit runs
	SpecHash  string    // as Driver.SpecHash
	// RestartRequest is the same as Driver.RestartRequest.
	RestartRequest string
	// Why is the explanation of a failure, including the last output of spark-submit, or the wait reason of a pending
	// pod.
	Why Cause
}

// Executor contains the facts about one executor pod.
type Executor struct {
	Name    string
	ID      string // spark-exec-id
	Attempt int32
	AppID   string
	// SparkVersion is the version of the Spark that created the pod, which is the driver's version; empty if the pod
	// has no such label.
	SparkVersion          string
	Phase                 DriverPhase
	Unready               bool // Kubernetes reports that the pod is not Ready; meaningful only while the pod runs
	Lingers               bool // a container still runs although the Spark container has ended
	CreatedAt             time.Time
	StartedAt             time.Time // of the Spark container; zero before that time
	UnresponsiveScheduler string    // as Driver.UnresponsiveScheduler
	Use                   PodUse
	Why                   Cause
}

// Role is the Spark role of a pod in a standalone cluster. It is also the name of the container in which Spark runs.
type Role string

// These are the roles.
const (
	Master Role = "master"
	Worker Role = "worker"
)

// Member contains the facts about one pod of a standalone cluster. If the pod is deleted, its StatefulSet creates
// another pod with the same name.
type Member struct {
	Name      string
	Role      Role
	Phase     DriverPhase
	Ready     bool
	Deleting  bool // has a deletion timestamp
	CreatedAt time.Time
	// Generation identifies the spec from which the pod was created (SpecHashAnnotation); empty if another operator's
	// StatefulSet created the pod.
	Generation  string
	Gated       bool      // as Driver.Gated
	ScheduledAt time.Time // as Driver.ScheduledAt
	// Why is the best explanation of a failure, or the wait reason of a pod that is not ready.
	Why Cause
	Use PodUse
}

// Run contains the facts about an application that a schedule started or owns.
type Run struct {
	Name      string
	UID       string
	CreatedAt time.Time
	Deleting  bool // has a deletion timestamp
	// Deleted is set if the application no longer exists but its pods are still stopping. In this case the pods are the
	// only source of the facts. If Deleted is set, Deleting is set too.
	Deleted bool
	Outcome Outcome   // Undecided while it runs; else Succeeded or Failed
	EndedAt time.Time // zero while it runs, or if the application has no such time
}

// Observed is the live state of the objects of one custom resource.
type Observed struct {
	// Drivers are all driver pods that the application owns, of all attempts.
	Drivers []Driver
	// Submitters are all submitter pods that the application owns, of all attempts.
	Submitters []Submitter
	// Executors are all executor pods that belong to the application.
	Executors []Executor
	// UncountedExecutors are the executors that disappeared before any status counted them. The totals in the status
	// include them, but no decision depends on them.
	UncountedExecutors []Executor
	// GonePods are drivers and executors that ended or disappeared since the last status write, for the sums of usage. No
	// decision depends on them.
	GonePods []GonePod
	// RemainingAttempts are the numbers of the attempts that still have objects other than pods (ConfigMaps, Services).
	RemainingAttempts []int32
	// Budgets are the numbers of the attempts whose driver has a PodDisruptionBudget. RemainingAttempts lists these
	// numbers too.
	Budgets []int32
	// Groups are the numbers of the attempts that have a gang object of a batch scheduler. RemainingAttempts lists
	// these numbers too.
	Groups []int32
	// Runs are all applications that a schedule owns.
	Runs []Run
	// Members are all pods of a standalone cluster.
	Members []Member
	// Quota is what the queue of the custom resource says; nil if the custom resource is in no queue.
	Quota *Quota
	// NamespaceLabels are the labels of the application's namespace; nil if no decision depends on them.
	NamespaceLabels map[string]string
	// Logs is what is known about the logs of the last attempt that had any; nil if nothing is known.
	Logs *Logs
	// AuxiliaryCount is the number of existing auxiliary objects of a driver. For a standalone cluster it is the number
	// of existing objects that the cluster consists of.
	AuxiliaryCount int
	// AuxiliaryServices is the number of Services among them.
	AuxiliaryServices int
	// Confirmed is set after a live read of the application's drivers and submitters, of all attempts, if Observed
	// contains every pod that it found. Only then may a decision rely on the absence of a pod. If the live read finds
	// another pod, the pod is added to Observed instead. Like Rejection, Confirmed is valid for one pass only.
	Confirmed bool
	// Inspected is set if a live read checked whether the objects that the current attempt's driver mounts exist.
	// Driver.MissingConfigMap has the result. Inspected is valid for one pass only, and implies Confirmed.
	Inspected bool
	// PodsConfirmed is set if a live read compared all pods of the current attempt with the pods in Observed. It is
	// valid for one pass only, and implies Confirmed.
	PodsConfirmed bool
	// CacheBehind is set if the live read for PodsConfirmed or Confirmed found a pod in a later state than Observed
	// has. It is valid for one pass only.
	CacheBehind bool
	// ShortSince is the time since when too few executors have been observed. Decisions use it until Memory.ShortSince
	// contains that time. It is zero if there were enough executors.
	ShortSince time.Time
	// Shortages are the shortages that the last decision returned (Plan.Shortages); zero if this process has not
	// decided yet.
	Shortages Shortages
	// ProbeResult is the API server's answer to a probe with an executor that the current attempt wants. The zero Cause
	// means that the API server accepts the executor; nil means that no probe was sent. It is valid for one pass only.
	ProbeResult *Cause
	// QuerySkipped is set if a pod waits or is missing, this pass was not allowed to query the reason, and this process
	// has no answer to an earlier query. The reason in the memory is then kept, because another process may have found
	// it.
	QuerySkipped bool
	// Rejection is set if the API server rejected an action of this pass. The decision is made again with this fact.
	Rejection *Cause
	// TransientError is set if an action of this pass failed with a transient error, and actions have failed for some
	// time. A decision then requests only what cannot wait, so that its other results are stored. For example,
	// deadlines also pass during an outage.
	TransientError *TransientError
}

// TransientError describes the transient errors that currently prevent actions. The application does not cause them.
type TransientError struct {
	Cause Cause
	Since time.Time // time of the first failure after the last success
}

// Driver returns the driver pod of an attempt, or nil if the attempt has none.
func (o Observed) Driver(attempt int32) *Driver {
	for i := range o.Drivers {
		if o.Drivers[i].Attempt == attempt {
			return &o.Drivers[i]
		}
	}
	return nil
}

// Submitter returns the submitter pod of an attempt, or nil if the attempt has none.
func (o Observed) Submitter(attempt int32) *Submitter {
	for i := range o.Submitters {
		if o.Submitters[i].Attempt == attempt {
			return &o.Submitters[i]
		}
	}
	return nil
}

// Verb is the kind of an action.
type Verb string

// These are the verbs.
const (
	Create  Verb = "Create"
	Delete  Verb = "Delete"
	Confirm Verb = "Confirm" // read live, then decide again in the same pass
)

// Part is what an action changes, or what a notice is about.
type Part string

// These are the parts of an application, a standalone cluster or a schedule.
const (
	// Submission is everything that a launch creates: ConfigMaps and Services before the driver pod, or a Secret before
	// the submitter pod. Confirm with Submission reads live the objects that the submitted driver mounts, to check that
	// they exist.
	Submission   Part = "Submission"
	Attempt      Part = "Attempt"      // all objects of an attempt: submitter, driver, executors, ConfigMaps, Services
	SubmitterPod Part = "SubmitterPod" // the submitter pod; only for notices
	// Executors are the executors of an ended attempt that have not ended yet, and the object by which a batch
	// scheduler reserves capacity for them. Ended executors are kept for their logs. Confirm with Executors sends a
	// probe that checks whether another executor could be created.
	Executors Part = "Executors"
	// DriverPod is the driver pod, the submitter pod with its Secret, and the driver's budget. Deleting it stops a
	// running attempt, while the attempt's other objects still exist, because the driver may need them to stop cleanly.
	// Confirm with DriverPod reads drivers and submitters live.
	DriverPod Part = "DriverPod"
	// DriverObjects are the ConfigMaps, Services and policies that a launch creates for its driver. Create with
	// DriverObjects creates those that are missing.
	DriverObjects Part = "DriverObjects"
	Members       Part = "Members"      // pods of a standalone cluster; only for notices
	DriverBudget  Part = "DriverBudget" // the PodDisruptionBudget of the driver pod; a failed creation delays nothing
	Application   Part = "Application"  // the custom resource itself (expiry)
	State         Part = "State"        // a state of the API that the custom resource has entered; only for notices
	// ScheduledRun is an application that a schedule starts; Action.Name is its name. Confirm with ScheduledRun reads
	// the schedule's runs live.
	ScheduledRun Part = "Run"
	// QuotaRequest is the request for quota of the next or the current attempt. See Quota for it and the other parts.
	QuotaRequest  Part = "QuotaRequest"
	QuotaReturn   Part = "QuotaReturn"
	QuotaStarted  Part = "QuotaStarted"
	QuotaHeld     Part = "QuotaHeld"
	QuotaFinished Part = "QuotaFinished"
)

// Action is one step that the controller carries out in the cluster. The controller carries out all actions of a plan
// before it stores the plan's Next. If an action fails with a transient error, the plan is abandoned. If the API server
// rejects an action, the decision is made again with Observed.Rejection.
//
// The actions that a state machine returns can be compared: they are equal if and only if they request the same step.
// The objects of a step are rendered when the step is carried out. If a dialect has rendered them before, it stores
// them in Built. Actions with Built must not be compared, because Go compares the pointers in Built and not the
// objects.
type Action struct {
	Verb    Verb
	Part    Part
	Attempt int32
	Name    string // of a ScheduledRun; other parts are identified by Attempt
	Force   bool   // for Delete: no grace period, even for pods that are already being deleted
	// Built is the launch that a dialect rendered to decide (package dialect/launch). The dialect's method Render reads
	// it, so that the launch is not rendered twice. A state machine never sets Built, and an action without Built
	// requests the same step.
	Built any
}

// Transition is the entry of one phase. When the status with the new phase is stored, the transition is added to the
// history, emitted as an event and counted in the metrics.
type Transition struct {
	From, To Phase
	Attempt  int32
	Outcome  Outcome
	Cause    Cause
	At       time.Time
}

// Notice reports a fact that is not the entry of a phase, such as the wait reason of a driver or the failure of an
// executor.
type Notice struct {
	// Part is what the notice is about: SubmitterPod, DriverPod, Executors, Members, or Application for the custom
	// resource itself and State for a state that it has entered. ScheduledRun is for a run, and for every other fact
	// that the state machine of a schedule reports.
	Part Part
	// Name is the name of the pod or run. It is empty if the notice is not about a single pod or run.
	Name string
	// Waits is true if the cause is why pods do not start yet. It is false if a pod failed or is disrupted, and for any
	// other fact.
	Waits   bool
	Attempt int32
	Cause   Cause
}

// Plan is the result of a decision.
type Plan struct {
	Transitions  []Transition  // phases entered in this pass, oldest first
	Notices      []Notice      // other facts to report; like Transitions, they are reported after the status is stored
	Next         Memory        // the memory to store; everything else is observed again
	Actions      []Action      // in the order in which they are carried out
	RequeueAfter time.Duration // requeue after this time; 0: only an event starts the next pass
	Limit        Limit         // the next limit of the spec, for people; RequeueAfter may be earlier
	// Shortages are a fact for the next decision (Observed.Shortages). They are not stored, because storing them would
	// cost a status write for each executor that is created or ends. A new process therefore starts with no shortages,
	// which only delays a report.
	Shortages Shortages
}

// Limit is the time at which the operator ends an attempt, or deletes objects, if nothing changes first. Its zero value
// is no limit.
type Limit struct {
	At     time.Time
	Part   Part   // Attempt or Application
	Reason string // the reason with which an attempt ends, such as RunTimedOut; empty for a deletion
}

// Sooner returns the limit that passes first.
func (l Limit) Sooner(other Limit) Limit {
	if l.At.IsZero() || other.At.Before(l.At) {
		return other
	}
	return l
}

// Soonest returns the shorter of two waits, such as Plan.RequeueAfter. A wait of 0 or less means that no pass is
// requested. If one of the waits is 0 or less, Soonest returns the other.
func Soonest(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	}
	return min(a, b)
}

// RequeueWithin returns the wait until the next pass if that pass was requested after wait, and now a pass is requested
// after at most d. A wait of 0 means that no pass was requested. A d of 0 or less requests a pass at once, which is a
// wait of 1 ms.
func RequeueWithin(wait, d time.Duration) time.Duration {
	return Soonest(wait, max(d, time.Millisecond))
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// NotInFuture returns t, or the current time if t is zero or in the future. A time from another machine may be in the
// future, because the clocks of machines differ.
func NotInFuture(t, now time.Time) time.Time {
	if t.IsZero() || t.After(now) {
		return now
	}
	return t
}

// CorrectTimes sets those of the given times that are in the future to the current time. A remembered time is in the
// future if the operator's clock was ahead when the time was stored. A timer that counts from it would otherwise be
// late by the whole difference.
func CorrectTimes(now time.Time, times ...*time.Time) {
	for _, t := range times {
		if t.After(now) {
			*t = now
		}
	}
}
