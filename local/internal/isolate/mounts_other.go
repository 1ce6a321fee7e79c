//go:build !linux

package isolate

import "errors"

// Bind is a bind mount of the directory From over the directory To.
type Bind struct{ From, To string }

// EnterNamespaces returns an error, because namespaces need Linux.
func EnterNamespaces(string, []Bind) error { return errors.New("namespaces need Linux") }

// ThreadID returns 0, because threads have IDs only on Linux.
func ThreadID() int { return 0 }
