package proc

import (
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	errAgain           = syscall.Errno(windows.ERROR_NO_SYSTEM_RESOURCES)
	errNoMemory        = syscall.Errno(windows.ERROR_NOT_ENOUGH_MEMORY)
	errManyFiles       = syscall.Errno(windows.ERROR_TOO_MANY_OPEN_FILES)
	errManyFilesSystem = errManyFiles
	errTooBig          = syscall.Errno(windows.ERROR_FILENAME_EXCED_RANGE)
	errNoExec          = syscall.Errno(windows.ERROR_BAD_EXE_FORMAT)
	errTextBusy        = syscall.Errno(windows.ERROR_SHARING_VIOLATION)
)
