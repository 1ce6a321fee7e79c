// Package dialect holds what the dialects of both API groups have in common: how a fault of a spec is worded, how conditions stand in each phase, and
// what a controller is given of a custom resource besides its plan. A dialect itself is a package below it, and imports no other.
package dialect
