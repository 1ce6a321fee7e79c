//go:build !linux

package preflight

import "runtime"

func look(Need) Machine { return Machine{OS: runtime.GOOS} }
