package proc

import (
	"bytes"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of <sys/proc.h>

// A note of an exit carries the status.
const (
	noteExit    = unix.NOTE_EXIT | unix.NOTE_EXITSTATUS
	tellsStatus = true
)

func leaderEnded(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || k.Proc.P_stat == zombie
}

func sleepPoll() { time.Sleep(10 * time.Millisecond) }

func started(k *unix.KinfoProc) uint64 {
	return uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec)
}

func bornAt(pid int) uint64 {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return started(k)
}

// members returns the live processes of g: its process group, and those of this
// user that carry the mark.
func (g *group) members(bool) (found []Member, known bool) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, false
	}
	for i := range all {
		k := &all[i]
		pid := int(k.Proc.P_pid)
		if !mayHit(pid) || k.Proc.P_stat == zombie || started(k) < g.born {
			continue
		}
		args, err := unix.SysctlRaw("kern.procargs2", pid)
		if int(k.Eproc.Pgid) != g.pid && (err != nil || !bytes.Contains(args, []byte(g.id))) {
			continue
		}
		found = append(found, Member{PID: pid, pgrp: int(k.Eproc.Pgid), start: started(k), Command: argsOf(args, k.Proc.P_comm[:])})
	}
	return found, true
}

// argsOf takes the command line out of what kern.procargs2 returns: a count, the
// path, padding, the arguments, the environment.
func argsOf(b, comm []byte) string {
	if len(b) < 4 {
		name, _, _ := bytes.Cut(comm, []byte{0})
		return shownCommand(name)
	}
	n := int(b[0]) | int(b[1])<<8
	b = b[4:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = bytes.TrimLeft(b[i:], "\x00")
	}
	end := 0
	for ; n > 0 && end < len(b); n-- {
		i := bytes.IndexByte(b[end:], 0)
		if i < 0 {
			end = len(b)
			break
		}
		end += i + 1
	}
	return shownCommand(b[:end])
}

// signalMember sends sig to m unless it is gone and its id another's.
func signalMember(m Member, sig syscall.Signal) {
	if mayHit(m.PID) && bornAt(m.PID) == m.start {
		_ = syscall.Kill(m.PID, sig)
	}
}
