//go:build dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	noteExit    = unix.NOTE_EXIT
	tellsStatus = false
)

// leaderEnded cannot look without reaping here; it is only asked when the
// kernel queue failed, and then the usual reason is that the leader has ended.
func leaderEnded(int) bool { return true }

func sleepPoll() { time.Sleep(10 * time.Millisecond) }

func bornAt(int) uint64 { return 0 }

// members cannot list processes here. That the group has some is known, though
// zombies count as well.
func (g *group) members(bool) ([]Member, bool) {
	if err := syscall.Kill(-g.pid, 0); errors.Is(err, syscall.ESRCH) {
		return nil, true
	}
	return nil, false
}

func signalMember(Member, syscall.Signal) {}
