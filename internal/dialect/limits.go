package dialect

// MaxHistory is the maximum of a schedule's successfulRunHistoryLimit and failedRunHistoryLimit. docs/validation.md
// lists it.
const MaxHistory = 1000
