// Package dialect holds the code that the dialects of both API groups share: errors about fields, the conditions of
// each phase, events, counts of executors, and the results for a controller that are not part of a plan. Each dialect
// is a package below this package. Dialects do not import each other.
package dialect
