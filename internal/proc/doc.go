// Package proc runs commands so that they always end, keep their output, and
// leave nothing behind that nobody knows of.
//
// The usual way with os/exec hangs when a command leaves a child behind that
// holds its output open, and loses track of that child. Here the caller's side
// owns the pipe, learns of the exit of the first process (the leader) without
// reaping it, waits a moment for late output, and looks who is left. As long as
// the leader is not reaped, its id, which is also that of its session and
// process group, cannot be given to anybody else, so signals to the group never
// hit strangers. What leaves the session carries a mark in its environment and
// is found by that, as far as the operating system shows environments.
//
// A [Process] has two ends. It is ready when there is something to report: it
// ended, it was stopped at its timeout, or it goes on behind the caller's back
// (a job). It is done when nothing of it is left. Start no Process without
// calling Close at some time.
//
// Linux is complete. On macOS and the BSDs escaped processes are found on macOS
// only; on Windows a job object holds everything together and there is no
// polite signal.
package proc
