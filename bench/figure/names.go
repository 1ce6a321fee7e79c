package figure

// The scenarios, each of which is a table of the report. The ranges in bench/ranges and the report speak of figures by these words, and scenarios write them.
const (
	Lives     = "lives"        // whole lives, a driver and five executors, at the rate that can be sustained; Raw beside Operator
	Burst     = "burst"        // driver-only applications created at once
	HalfRate  = "halfrate"     // lives at half of the rate that was sustained
	Standing  = "standing"     // so many live applications; cases "100 live", "1,000 live", "10,000 live"
	Finished  = "finished"     // lives beside 10,000 applications that are over
	ColdStart = "coldstart"    // the operator starts with applications that are there already
	Failover  = "failover"     // the leader is killed
	Deletion  = "deletion"     // applications deleted (case Applications), and as many bare pods with one owned ConfigMap and Service each (case Pods)
	Hostile   = "hostile"      // another namespace is full of what is none of the operator's; cases Without, With
	Fairness  = "fairness"     // one application beside 5,000 new ones of another namespace; cases Alone, Beside
	Submit    = "spark-submit" // the real one of each Spark line; cases SubmitCase
	Micro     = "micro"        // micro benchmarks; a case is ns, bytes or allocations
)

// Cases that ranges compare.
const (
	Operator     = "operator"
	Raw          = "raw limit" // the same writes by plain clients, without an operator
	Applications = "applications"
	Pods         = "bare pods"
	Without      = "without"
	With         = "with"
	Alone        = "alone"
	Beside       = "beside 5,000"
)

// Names of figures that ranges speak of, with their units.
const (
	Rate             = "applications a second"                     // completed, sustained; 1/s
	Launch50         = "creation to driver pod, p50"               // s
	Launch99         = "creation to driver pod, p99"               // s
	DriverLag50      = "driver event to status, p50"               // s
	DriverLag99      = "driver event to status, p99"               // s
	ExecutorLag50    = "executor event to status, p50"             // s; executors' news is put off on purpose
	ExecutorLag99    = "executor event to status, p99"             // s
	NoDriver         = "applications without a driver pod"         // up to the end of what is looked at; always noted, 0 too
	NoStatus         = "driver events without a status"            // likewise
	NoExecutorStatus = "executor events without a status"          // likewise
	Launches         = "driver pods a second"                      // until the last driver pod's creation was answered; 1/s
	UntilFirst       = "until 1,200 of the crowd have driver pods" // of the applications that a single one is beside; s
	CPU              = "operator CPU an application"               // ms
	AtRest           = "operator resident, at rest"                // MB; after a collection of garbage, with nothing to do
	PeakStays        = "operator resident, peak of one that stays" // MB; of an operator that is there while a namespace is filled
	Resident         = "operator resident"                         // MB, which are 10^6 bytes; at the end of what is measured
	Peak             = "operator resident, peak"                   // MB
	Objects          = "objects created an application"            // by the operator: ConfigMaps, Services, pods
	StatusWrites     = "status writes an application"              // by the operator
	EventWrites      = "events an application"                     // by the operator, first ones and those counted up
	OtherWrites      = "other writes an application"               // by the operator, of whatever is none of these, Leases left out
	MostObjects      = "objects created, most of one life"         // by the operator, for the application with the most of those that end COMPLETED
	MostStatusWrites = "status writes, most of one life"           // likewise
	MostEventWrites  = "events, most of one life"                  // likewise
	MostOtherWrites  = "other writes, most of one life"            // likewise
	Conflicts        = "refused writes an application"             // of the operator, carried out for none: 409 and other 4xx
	Astray           = "operator's writes for no application"      // in any namespace or none, Leases left out; counted, not an application
	Elsewhere        = "operator's writes for other applications"  // than those of the load that is looked at; counted, not an application
	Writes           = "writes an application"                     // by all actors
	WriteBytes       = "written bytes an application"              // by all actors; B
	QueueDepth       = "queue depth, most"                         //
	UntilGone        = "until all are gone"                        // of a deletion; s
	Delay            = "delay by the other namespace"              // of one application's driver pod; s
	SlopeLow         = "resident a live application, low"          // from 100 to 1,000 live; kB
	SlopeHigh        = "resident a live application, high"         // from 1,000 to 10,000 live; kB
	SubmitWall       = "wall"                                      // of one spark-submit; s
	SubmitCPU        = "CPU"                                       // of one spark-submit; s
	SubmitMemory     = "resident, peak"                            // of one spark-submit; MB
	FirstDecision    = "until the first decision"                  // of a cold start; s
	TakeOver         = "until another acts"                        // of a failover; s
	ReplayFailed     = "writes that failed"                        // of the raw limit
	ReplayBound      = "share of the pods that were bound"         // before the raw limit's nodes wrote their status
	Taken            = "share of all cores that was taken"         // by everybody that is measured; of the operator also what it took until it was quiet, over the time until the end
	Work             = "CPU of a fixed piece of work"              // meanwhile, of the bench's own: what the processor is worth; ms
	Share            = "share of the raw limit"                    // that the operator reaches
)

// LiveCase is the case of so many live applications.
func LiveCase(n int) string { return Count(n) + " live" }

// SubmitCase is the case of a Spark version of which so many submissions go on at a time.
func SubmitCase(version string, atOnce int) string {
	if atOnce == 1 {
		return "Spark " + version + ", one at a time"
	}
	return "Spark " + version + ", " + Count(atOnce) + " at once"
}
