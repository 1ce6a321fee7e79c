package gang

// The default names of the schedulers in spec.schedulerName of pods. An administrator may have chosen other names.
const (
	VolcanoScheduler  = "volcano"
	YuniKornScheduler = "yunikorn"
)
