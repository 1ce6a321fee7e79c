package gang

// The names of the schedulers, which pods have as spec.schedulerName unless their administrator chose others.
const (
	VolcanoScheduler  = "volcano"
	YuniKornScheduler = "yunikorn"
)
