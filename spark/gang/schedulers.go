package gang

// The names of the schedulers in spec.schedulerName of pods, unless an administrator chose others.
const (
	VolcanoScheduler  = "volcano"
	YuniKornScheduler = "yunikorn"
)
