package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/agenttool/tool/internal/fsroot"
)

// errKeep: a new file would lack something that the old one has.
var errKeep = errors.New("cannot be kept in a new file")

// writable opens the existing file for writing, changing nothing, to find out whether it may be written.
func (c *commit) writable(j *job) error {
	f, _, err := j.dir.OpenWrite(j.base)
	switch {
	case err == nil:
		return f.Close()
	case isTextBusy(err):
		j.note = "the program is running; it was replaced, and goes on running the old content"
		return nil
	case isReadOnlyFS(err):
		return fmt.Errorf("%w: the file system is mounted read-only", ErrReadOnly)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: this user may not write it (mode %04o)", fs.ErrPermission, j.info.Mode().Perm())
	}
	return err
}

// stage puts new content on disk beside its target, and makes the directories.
func (c *commit) stage(j *job) error {
	ch := j.change
	if ch.Op == Delete {
		return nil
	}
	if err := c.makeDirs(j); err != nil {
		return err
	}
	dir := j.dir
	if ch.Op == Move {
		dir = j.toDir
		j.copied = !ch.Path.SameGrant(ch.To) || StatOf(j.info).Device != deviceOf(dir)
	}
	c.w.sweep(dir, dir.Path())
	switch {
	case ch.Op == Create:
		return c.stageTemp(j, dir, ch.Content, nil)
	case !ch.writes() && !j.copied:
		return nil
	}
	content := ch.Content
	if !ch.writes() {
		content = j.before
	}
	why := mustStayInPlace(j.info)
	if j.copied {
		if j.info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("a link cannot be moved to another file system; make a new one there")
		}
		why = ""
	}
	if why != "" && ch.Splices != nil {
		return inPlaceRefused(why)
	}
	if why == "" {
		err := c.stageTemp(j, dir, content, j.info)
		switch {
		case err == nil:
			switch {
			case j.info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
				j.note = "its set-user-id or set-group-id bit was cleared, as any change of content does"
			case j.capable:
				j.note = "its file capabilities were cleared, as any change of content does"
			}
			return nil
		case j.copied:
			return err
		case ch.Splices != nil && (errors.Is(err, errKeep) || errors.Is(err, fs.ErrPermission)):
			return inPlaceRefused(err.Error())
		case errors.Is(err, errKeep):
			why = err.Error()
		case errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err):
			why = "no new file can be made in its directory"
		default:
			return err
		}
	}
	j.inPlace, j.note = true, "written in place: "+why
	return nil
}

func (c *commit) makeDirs(j *job) error {
	p, d := j.change.Path, &j.dir
	if j.change.Op == Move {
		p, d = j.change.To, &j.toDir
	}
	if *d != nil {
		return nil
	}
	if err := c.fault("mkdir", p); err != nil {
		return err
	}
	made, err := c.w.Root.MakeParents(p)
	j.made = made
	c.undo = append(c.undo, func() string {
		c.w.Root.RemoveMade(made)
		return ""
	})
	if err != nil {
		return err
	}
	*d, err = c.w.Root.Parent(p)
	return err
}

// stageTemp writes content to a temporary file in dir that has all properties of the file it will replace, which like
// describes; nil means a new file.
func (c *commit) stageTemp(j *job, dir *fsroot.Dir, content []byte, like fs.FileInfo) (err error) {
	if err := c.fault("temp", j.target); err != nil {
		return err
	}
	name := tempName(j.target.Base(), false, time.Now())
	f, err := c.openTemp(j, dir, name, like)
	if err != nil {
		return err
	}
	drop := func() { _ = dir.Remove(name) }
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			drop()
		}
	}()
	if err := c.fault("write", j.target); err != nil {
		return err
	}
	if err := c.fill(j, f, content); err != nil {
		return noSpace(err, j.target)
	}
	if like != nil {
		if err := c.fault("meta", j.target); err != nil {
			return err
		}
		src, _, err := j.dir.Open(j.base)
		if err != nil {
			return err
		}
		j.capable = hasCapabilities(src)
		err = copyMeta(f, src, like)
		_ = src.Close()
		if err != nil {
			return err
		}
	}
	if !c.w.NoSync {
		if err := c.fault("sync", j.target); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return noSpace(err, j.target)
		}
	}
	j.temp = name
	c.undo = append(c.undo, func() string {
		drop()
		return ""
	})
	return nil
}

// fill writes the new content to f.
func (c *commit) fill(j *job, f *os.File, content []byte) error {
	if j.change.Splices == nil {
		_, err := f.Write(content)
		return err
	}
	src, _, err := j.dir.Open(j.base)
	if err != nil {
		return err
	}
	defer src.Close()
	j.spliced, err = spliced(c.ctx, f, src, j.change.Splices)
	return err
}

func (c *commit) openTemp(j *job, dir *fsroot.Dir, name string, like fs.FileInfo) (*os.File, error) {
	if like != nil {
		src, _, err := j.dir.Open(j.base)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		return newLike(dir, name, src)
	}
	perm := fs.FileMode(0o666)
	if j.change.Executable {
		perm = 0o777
	}
	return dir.Create(name, perm)
}

func noSpace(err error, p *fsroot.Path) error {
	if isNoSpace(err) {
		return fmt.Errorf("%s: no space left on the device: %w", p.Display, err)
	}
	return err
}

func deviceOf(d *fsroot.Dir) uint64 {
	info, err := d.Lstat(".")
	if err != nil {
		return 0
	}
	return StatOf(info).Device
}
