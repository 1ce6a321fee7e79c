//go:build !linux

package preflight

import "runtime"

func inspect(Need) Machine { return Machine{OS: runtime.GOOS} }
