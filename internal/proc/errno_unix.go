//go:build unix

package proc

import "syscall"

const (
	errAgain           = syscall.EAGAIN
	errNoMemory        = syscall.ENOMEM
	errManyFiles       = syscall.EMFILE
	errManyFilesSystem = syscall.ENFILE
	errTooBig          = syscall.E2BIG
	errNoExec          = syscall.ENOEXEC
	errTextBusy        = syscall.ETXTBSY
)
