// Package dialect holds the code that the dialects of both API groups share: errors about fields, the conditions of
// each phase, events, and other results of a pass that the controller needs besides the plan. Each
// dialect is a package below sparkoperator or apache. Dialects do not import each other, except that a schedule reviews
// its runs as applications. The other packages below this package are parts that the dialects share.
package dialect
