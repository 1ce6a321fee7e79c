package world

import "syscall"

// dieWithParent ends a child when the bench is killed and cannot end it.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
