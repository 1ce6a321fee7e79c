package dialect

// MaxHistory is how many runs that ended a schedule may keep, of those that ended well and of those that failed. docs/validation.md lists it.
const MaxHistory = 1000
