package validate

// These are used by the test of the document, which is outside of this package because it makes whole decisions.
var (
	Rules  = rules
	Denied = denied
)

const MountedPrefix = mountedPrefix
