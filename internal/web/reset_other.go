//go:build !windows

package web

import "syscall"

// errReset is what the system calls a connection that the other side reset.
const errReset = syscall.ECONNRESET
