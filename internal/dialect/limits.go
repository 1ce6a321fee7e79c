package dialect

// MaxHistory is the maximum of a schedule's successfulRunHistoryLimit and failedRunHistoryLimit. docs/limits.md
// lists it.
const MaxHistory = 1000
