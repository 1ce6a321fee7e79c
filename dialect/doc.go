// Package dialect holds what the dialects of both API groups share: errors about fields, the conditions of each phase,
// events, counts of executors, and what a controller receives for a custom resource besides its plan. A dialect is a
// package below this one. Dialects do not import each other.
package dialect
