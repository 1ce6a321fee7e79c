package draft

// These tables are exported for tests, which go through all entries.
var (
	FileLists     = fileLists
	MixingClasses = mixingClasses
	TextKeys      = textKeys
)
