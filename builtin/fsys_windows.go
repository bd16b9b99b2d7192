package builtin

// openFlags: named pipes are not found below a directory on Windows.
const openFlags = 0
