// Package lifecycle is the vocabulary in which decisions about Spark resources are made and told: what is wanted (App), what is remembered
// (Memory), what is seen (Observed), and what follows (Plan).
//
// The machines that decide live in the packages below it (application, schedule, connect, cluster). They are pure functions of their
// arguments: no clock, no cluster, no randomness. The dialects translate custom resources into this vocabulary and back; the
// controller turns a Plan's actions into API calls. No word here belongs to one of the two API families.
package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Phase is where an application stands in its life. It is finer than either API family's state: a dialect projects it.
type Phase string

// The phases of an application. A phase that is not Terminal always has a deadline, a timer or a named event that it waits for.
const (
	New        Phase = ""           // seen for the first time; nothing was created
	Waiting    Phase = "Waiting"    // before another attempt: for the backoff, or for the last attempt's objects to be gone
	Launched   Phase = "Launched"   // the attempt's objects exist; the driver pod does not run yet
	Started    Phase = "Started"    // the driver container runs, the pod is not Ready yet
	Ready      Phase = "Ready"      // the driver pod is Ready; no executor was seen yet
	Scaling    Phase = "Scaling"    // executors start; fewer than the initial threshold
	Running    Phase = "Running"    // enough executors run (or no threshold is set)
	Partial    Phase = "Partial"    // runs with fewer executors than it may have (App.Thresholds)
	Below      Phase = "Below"      // runs with fewer executors than it must have (App.Thresholds)
	Unknown    Phase = "Unknown"    // the driver's node does not answer; nothing is concluded until it does
	Ended      Phase = "Ended"      // the attempt is over; what follows waits for something (a retry's timer)
	Retained   Phase = "Retained"   // over for good; the driver pod is kept
	Done       Phase = "Done"       // over for good; nothing is left to release
	Suspending Phase = "Suspending" // asked to suspend; the attempt's objects are going
	Suspended  Phase = "Suspended"  // holds until the suspension is lifted
	Resuming   Phase = "Resuming"   // the suspension was lifted; the next attempt is launched
	Editing    Phase = "Editing"    // the spec changed; the attempt of the old spec is going
)

// Terminal reports whether nothing happens any more without an edit, except expiry.
func (p Phase) Terminal() bool { return p == Retained || p == Done }

// Live reports whether an attempt of the application is expected to have a driver pod.
func (p Phase) Live() bool {
	switch p {
	case Launched, Started, Ready, Scaling, Running, Partial, Below, Unknown:
		return true
	}
	return false
}

// Runs reports whether an attempt's start is behind it and its driver goes on, with however many executors.
func (p Phase) Runs() bool { return p == Running || p == Partial || p == Below }

// Outcome is how an attempt ended; empty while it goes on.
type Outcome string

// The outcomes of an attempt.
const (
	Undecided         Outcome = ""
	Succeeded         Outcome = "Succeeded"         // the driver container exited 0
	Failed            Outcome = "Failed"            // the driver container ended otherwise
	Lost              Outcome = "Lost"              // the driver pod is gone and nobody saw it end
	Evicted           Outcome = "Evicted"           // the driver pod was evicted or preempted
	Refused           Outcome = "Refused"           // the attempt could not be rendered, or the API server refused an object of it
	StartTimedOut     Outcome = "StartTimedOut"     // Deadlines.DriverStart passed
	ReadyTimedOut     Outcome = "ReadyTimedOut"     // Deadlines.DriverReady passed
	ExecutorsTimedOut Outcome = "ExecutorsTimedOut" // Deadlines.ExecutorsStart passed
	RunTimedOut       Outcome = "RunTimedOut"       // Deadlines.Run passed
)

// Cause says why: a CamelCase reason for machines and a sentence for people. The zero value means there is nothing to say.
type Cause struct {
	Reason  string
	Message string
}

// Memory is what must be remembered from one decision to the next and cannot be observed again. Each dialect stores it in its status
// so that Decode(Encode(m)) == m for every Memory that a machine can reach.
type Memory struct {
	Phase   Phase
	Since   time.Time // when Phase was entered
	Attempt int32     // number of the current or last attempt, from 1; 0 before the first. Never reused, also not after an edit
	// AttemptID is the submission id of the current or last attempt: computed at its launch, read from here afterwards.
	AttemptID   string
	SpecHash    string // of the spec that the attempt was launched from
	Runs        int32  // attempts whose objects were all created, since the last edit or the last one that settled (Restart.Settled)
	Submissions int32  // attempts to create them, since then
	Spared      int32  // of Runs, those that a suspension stopped: they use up no retry
	SubmittedAt time.Time
	UngatedAt   time.Time // when the attempt's driver pod lost the scheduling gates that held it up; zero if none did
	EndedAt     time.Time // end of the last attempt; zero while one goes on
	NextAttempt time.Time // when a waiting retry is due; zero if none waits
	ShortSince  time.Time // since when fewer executors exist than are wanted, and no other came; zero while enough do
	Restarts    Restarts  // what Restart.Counted bounds; zero where that is not set
	Before      Phase     // in Unknown, the phase that the lost driver was in, where App.Thresholds is set; New else
	Outcome     Outcome   // of the attempt that ended last; kept in Waiting for the retry's sake
	Cause       Cause     // of Outcome, or of what a live phase waits for
}

// DriverPhase is a pod's life as the decision needs it.
type DriverPhase string

// The driver's phases.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded" // the Spark container exited 0, whatever its sidecars do
	DriverFailed    DriverPhase = "Failed"
	DriverUnknown   DriverPhase = "Unknown" // its node is lost
)

// Driver holds the facts read from one driver pod.
type Driver struct {
	Name     string
	UID      string
	Attempt  int32 // from the pod's attempt label
	Phase    DriverPhase
	Ready    bool
	Address  string    // of the pod; empty before it has one
	Deleting bool      // has a deletion timestamp
	GoneBy   time.Time // that timestamp: until when it may take to stop; zero while it is not being deleted
	// SilentSince is when Kubernetes found that the node of a DriverUnknown does not answer; zero where it does not say. A node that does
	// answer puts that right in no time, so a younger one is doubted.
	SilentSince time.Time
	AppID       string
	CreatedAt   time.Time
	StartedAt   time.Time // of the Spark container; zero before
	ReadyAt     time.Time // when the pod last became Ready; zero while it is not
	EndedAt     time.Time // of the Spark container; zero before
	ExitCode    int32     // meaningful when HasExit
	HasExit     bool
	Evicted     bool
	// SpecHash is the hash of the spec that the pod was made from, where the pod tells; empty otherwise. An attempt whose launch was not
	// remembered any more (the operator died in between) is taken for what it is by it, also when the spec was edited meanwhile.
	SpecHash string
	// Submitter is the name of the pod that made this one by spark-submit; empty where the operator made it.
	Submitter string
	// AttemptID is the attempt's id where another operator launched it; empty where it follows from the attempt's number (AttemptID).
	AttemptID string
	// SparkVersion is the version that whoever made the pod put on it: the declared one where the operator did, the image's own where spark-submit
	// did; empty where the pod does not tell.
	SparkVersion string
	// Torn is set when a live read found that the pod waits for a ConfigMap that nobody will make any more: its submitter died between the
	// two. It means something only where Observed.Inspected says that there was such a read.
	Torn bool
	// Silent is the name of the scheduler that has said nothing about the pod yet; see Silent.
	Silent string
	Gated  bool // the pod has scheduling gates, which a queue removes
	// ScheduledAt is when the pod was given a node; zero before.
	ScheduledAt time.Time
	// Why is the best account of a failure, or of what a pending pod waits for (image, volume, node, quota...).
	Why Cause
	// Status is the pod's own, as it was read, for who keeps what Kubernetes said of an end. No decision goes by it, and nobody changes it.
	Status *corev1.PodStatus
}

// Submitter holds the facts read from a pod that makes an attempt's driver pod by spark-submit. It can make one at most: the driver pod's
// name is fixed before it starts.
type Submitter struct {
	Name      string
	UID       string
	Attempt   int32
	Phase     DriverPhase
	Deleting  bool      // has a deletion timestamp
	GoneBy    time.Time // that timestamp; zero while it is not being deleted
	CreatedAt time.Time
	EndedAt   time.Time // zero before
	SpecHash  string    // as Driver.SpecHash
	// Why is the account of a failure, spark-submit's last words among it, or what a pending pod waits for.
	Why Cause
}

// Executor holds the facts read from one executor pod.
type Executor struct {
	Name    string
	ID      string // spark-exec-id
	Attempt int32
	AppID   string
	// SparkVersion is the version of the Spark that made the pod, which is the driver's; empty where the pod does not tell.
	SparkVersion string
	Phase        DriverPhase
	Unready      bool // Kubernetes says that the pod is not Ready; it means something while it runs
	CreatedAt    time.Time
	Silent       string // as Driver.Silent
	Why          Cause
}

// Role is what a pod of a standalone cluster is to it, and the name of the container that it is in.
type Role string

// The roles.
const (
	Master Role = "master"
	Worker Role = "worker"
)

// Member holds the facts read from one pod of a standalone cluster. Its StatefulSet makes another by its name when it goes.
type Member struct {
	Name      string
	Role      Role
	Phase     DriverPhase
	Ready     bool
	Deleting  bool // has a deletion timestamp
	CreatedAt time.Time
	// Generation tells what the pod was made from (SpecHashAnnotation); empty where another operator's StatefulSet made it.
	Generation  string
	Gated       bool      // as Driver.Gated
	ScheduledAt time.Time // as Driver.ScheduledAt
	// Why is the best account of a failure, or of what a pod waits for that is not ready.
	Why Cause
}

// Run holds the facts read from an application that a schedule started, or that carries the schedule as its owner.
type Run struct {
	Name      string
	UID       string
	CreatedAt time.Time
	Deleting  bool      // has a deletion timestamp
	Gone      bool      // the application does not exist any more, and pods of it still stop: they are all that tells of it. It is Deleting too
	Outcome   Outcome   // Undecided while it goes on; else Succeeded or Failed
	EndedAt   time.Time // zero while it goes on, or where the application does not say
}

// Observed is what exists in the cluster for one custom resource.
type Observed struct {
	// Drivers are all driver pods owned by the application, of whichever attempt.
	Drivers []Driver
	// Submitters are all pods owned by the application that make a driver pod by spark-submit, of whichever attempt.
	Submitters []Submitter
	// Executors are all executor pods that belong to the application.
	Executors []Executor
	// Gone are those that went and that no status has counted. They are counted, and nothing is decided by them.
	Gone []Executor
	// Remains are the numbers of the attempts that still have objects other than pods (ConfigMaps, Services).
	Remains []int32
	// Budgets are the numbers of the attempts whose driver is kept from evictions by a budget. They are among Remains too.
	Budgets []int32
	// Groups are the numbers of the attempts that a batch scheduler knows as a gang by an object. They are among Remains too.
	Groups []int32
	// Runs are all applications that a schedule owns.
	Runs []Run
	// Members are all pods of a standalone cluster.
	Members []Member
	// Beside is how many objects exist that stand beside a driver for others than Spark, or that a standalone cluster is made of.
	Beside int
	// Confirmed is set when a live read of the application's drivers and submitters, of whichever attempt, found none that is not among
	// them here: only then is a missing one believed. A read that finds one adds it instead. Like Refusal it is a fact of one pass and is
	// not kept for the next.
	Confirmed bool
	// Inspected is set when a live read compared the current attempt's driver with what it mounts; Driver.Torn has the result. It is a fact
	// of one pass, and implies Confirmed.
	Inspected bool
	// Reread is set when a live read compared all pods of the current attempt with what is seen of them here. It is a fact of one pass, and implies Confirmed.
	Reread bool
	// Behind is set when such a read, or the one that Confirmed tells of, found a pod further than it is seen here. It is a fact of one pass.
	Behind bool
	// ShortSince is since when too few executors were seen, where that is not stored yet (Memory.ShortSince); zero where they were not.
	ShortSince time.Time
	// Lacks are the plan's of the last decision (Plan.Lacks); zero if there was none in this process.
	Lacks Lacks
	// Probed is what the API server says against an executor that the current attempt wants: the zero Cause where nothing stands in its way, nil
	// where nobody asked. It is a fact of one pass.
	Probed *Cause
	// Unasked is set when something waits, or is not there, and nobody may be asked why in this pass: what was known of it holds.
	Unasked bool
	// Refusal is set when an action of this same pass was refused for good; the decision is then made again with this fact.
	Refusal *Cause
	// Weather is set when an action of this same pass failed for the moment, and those before it have for a while. A decision then asks for nothing
	// that can wait, so that what else follows is remembered: deadlines go on in bad weather.
	Weather *Weather
}

// Weather is what keeps actions from being carried out: not for good, and not through any fault of the application's.
type Weather struct {
	Cause Cause
	Since time.Time // of the first failure after which nothing went through
}

// Driver returns the driver pod of an attempt, or nil.
func (o Observed) Driver(attempt int32) *Driver {
	for i := range o.Drivers {
		if o.Drivers[i].Attempt == attempt {
			return &o.Drivers[i]
		}
	}
	return nil
}

// Submitter returns the pod that submits an attempt, or nil.
func (o Observed) Submitter(attempt int32) *Submitter {
	for i := range o.Submitters {
		if o.Submitters[i].Attempt == attempt {
			return &o.Submitters[i]
		}
	}
	return nil
}

// Verb is what an action does.
type Verb string

// The verbs.
const (
	Create  Verb = "Create"
	Delete  Verb = "Delete"
	Confirm Verb = "Confirm" // read live, then decide again in the same pass
)

// Part is what an action is about.
type Part string

// The parts of an application.
const (
	// Submission is everything a launch creates: ConfigMaps and Services before the driver pod, or a Secret before the pod that submits. To
	// confirm it is to look live whether the driver that was submitted has what it mounts.
	Submission   Part = "Submission"
	Attempt      Part = "Attempt"      // everything an attempt has in the cluster: submitter, driver, executors, ConfigMaps, Services
	SubmitterPod Part = "SubmitterPod" // the pod that submits; only told of
	// Executors are an ended attempt's executors that have not ended themselves, and the object by which a batch scheduler keeps room for them;
	// executors that have ended are kept for their logs. To confirm them is to ask whether another could be made.
	Executors Part = "Executors"
	// DriverPod is the driver pod, the pod that submits one with its Secret, and the driver's budget: to delete it stops an attempt that goes on, whose driver may need all the
	// rest to stop well. To confirm it is to look live for drivers and submitters.
	DriverPod    Part = "DriverPod"
	Members      Part = "Members"      // pods of a standalone cluster; only told of
	DriverBudget Part = "DriverBudget" // what keeps the driver pod from evictions; one that cannot be created holds nothing up
	Application  Part = "Application"  // the custom resource itself (expiry)
	// ScheduledRun is an application that a schedule starts; Action.Name tells which. To confirm it is to look live for the schedule's runs.
	ScheduledRun Part = "Run"
)

// Action is one step to take in the cluster. All of a plan's actions are carried out before its Next is remembered; one that fails for the
// moment abandons the plan, one that is refused for good leads to another decision with Observed.Refusal.
//
// The actions of a machine are comparable: two of them are equal if and only if they ask for the same step. What a step needs is rendered when the
// step is taken. A dialect may add what it rendered already (Built). Compare actions before that, since Built is compared by its address.
type Action struct {
	Verb    Verb
	Part    Part
	Attempt int32
	Name    string // of a ScheduledRun; what belongs to an attempt is known by its number
	Force   bool   // of a Delete: pods go without a grace period, also those that are being deleted already
	// Built points to what a dialect built to decide on a launch: the pods and the objects beside them, for its Render alone, which need not build them
	// again then. A machine sets none, and the action asks for the same step without.
	Built any
}

// Transition is one phase entered. It becomes history, an event and a metric after the status that holds it was stored.
type Transition struct {
	From, To Phase
	Attempt  int32
	Outcome  Outcome
	Cause    Cause
	At       time.Time
}

// Notice is something worth telling that enters no phase: what a driver or an executor waits for, an executor that failed.
type Notice struct {
	Part    Part   // SubmitterPod, DriverPod or Executors
	Name    string // of the pod
	Waits   bool   // the pod waits to start; else it failed, or something happens to it
	Attempt int32
	Cause   Cause
}

// Plan is a decision.
type Plan struct {
	Trail []Transition  // phases entered in this pass, oldest first
	Tell  []Notice      // what else became known in this pass; told after the status was stored, like Trail
	Next  Memory        // what to remember; everything else is observed again
	Do    []Action      // in order
	Check time.Duration // look again after this; 0 = only on a change
	// Lacks are a fact for the next decision (Observed.Lacks). They are not stored: a status write for each executor
	// that comes or goes would cost more than a process that begins to count anew.
	Lacks Lacks
}

// Soonest returns the shorter of two waits such as Plan.Check. A wait of 0 or less is none.
func Soonest(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	}
	return min(a, b)
}
