//go:build !linux

package world

import (
	"syscall"
	"time"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

func threadCPU() (time.Duration, bool) { return 0, false }
