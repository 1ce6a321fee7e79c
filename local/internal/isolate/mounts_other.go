//go:build !linux

package isolate

import "errors"

// Bind is a bind mount of one directory over another.
type Bind struct{ From, To string }

// EnterNamespaces works on Linux only.
func EnterNamespaces(string, []Bind) error { return errors.New("namespaces need Linux") }

// ThreadID works on Linux only.
func ThreadID() int { return 0 }
