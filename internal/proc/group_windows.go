package proc

import (
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a leader and all that it started, held together by a job object that
// ends them when its last handle is closed.
type group struct {
	cmd *exec.Cmd
	pid int

	mu   sync.Mutex
	job  windows.Handle // 0: there is none, only the leader is known
	wait error
}

// prepare has the leader start suspended: it must be in the job before it can
// start anything.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
	if n := len(cmd.Args) - 1; n > 0 && dialectOf(cmd.Path) == Cmd {
		// cmd does not split its line as other programs do: with /s it takes one
		// pair of quotes away and runs the rest as it is.
		line := syscall.EscapeArg(cmd.Path)
		for _, a := range cmd.Args[1:n] {
			line += " " + syscall.EscapeArg(a)
		}
		cmd.SysProcAttr.CmdLine = line + ` "` + cmd.Args[n] + `"`
	}
}

func newGroup(cmd *exec.Cmd, _ string, _ time.Time) *group {
	g := &group{cmd: cmd, pid: cmd.Process.Pid}
	if job, err := newJob(); err == nil {
		if err := assign(job, g.pid); err == nil {
			g.job = job
		} else {
			windows.CloseHandle(job)
		}
	}
	resume(g.pid)
	return g
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
}

// resume lets the suspended threads of pid run; a new process has one.
func resume(pid int) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return
	}
	defer windows.CloseHandle(snap)
	var te windows.ThreadEntry32
	te.Size = uint32(unsafe.Sizeof(te))
	for err = windows.Thread32First(snap, &te); err == nil; err = windows.Thread32Next(snap, &te) {
		if te.OwnerProcessID != uint32(pid) {
			continue
		}
		if h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, te.ThreadID); err == nil {
			_, _ = windows.ResumeThread(h)
			windows.CloseHandle(h)
		}
	}
}

// waitExit waits for the leader. Its handle keeps its id from being reused, so
// there is no harm in taking the status right away.
func (g *group) waitExit() { g.wait = g.cmd.Wait() }

func (g *group) reap() (*os.ProcessState, error) { return g.cmd.ProcessState, g.wait }

// peek returns how the leader ended, after waitExit.
func (g *group) peek() (exit int, signal string) {
	if g.cmd.ProcessState == nil {
		return -1, ""
	}
	return g.cmd.ProcessState.ExitCode(), ""
}

// members returns what is in the job.
func (g *group) members(bool) (found []Member, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return nil, false
	}
	var info struct { // JOBOBJECT_BASIC_PROCESS_ID_LIST
		assigned, listed uint32
		ids              [64]uintptr
	}
	const basicProcessIDList = 3
	err := windows.QueryInformationJobObject(g.job, basicProcessIDList, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil, false
	}
	for _, id := range info.ids[:min(info.listed, uint32(len(info.ids)))] {
		found = append(found, Member{PID: int(id), pgrp: g.pid, Command: shownCommand([]byte(imageName(uint32(id))))})
	}
	return found, true
}

// imageName returns the path of the program that a process runs, "" if that is not known.
func imageName(pid uint32) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(buf))
	if windows.QueryFullProcessImageName(h, 0, &buf[0], &n) != nil {
		return ""
	}
	return windows.UTF16ToString(buf[:n])
}

// terminate has no polite form: a console event would reach only programs that
// share our console.
func (g *group) terminate([]Member) {}

func (g *group) killAll([]Member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
		return
	}
	_ = g.cmd.Process.Kill()
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

func exitSignal(*os.ProcessState) string { return "" }

func growPipe(*os.File) {}

// unread is not known for pipes that nobody can look into without reading.
func unread(*os.File) int { return 0 }

// pipeReader cannot tell when bytes leave the pipe.
func pipeReader(f *os.File, _ *atomic.Bool) func([]byte) (int, error) { return f.Read }
