//go:build !linux

package world

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
