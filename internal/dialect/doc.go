// Package dialect holds the code that the dialects of both API groups share: errors about fields, the conditions of
// each phase, events, counts of executors, and other results of a pass that the controller needs besides the plan. Each
// dialect is a package below this package. Dialects do not import each other.
package dialect
