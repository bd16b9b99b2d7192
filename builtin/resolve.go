package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"
)

// location is what a name led to.
type location struct {
	given    string // as the caller wrote it
	abs      string // absolute, links followed; a part that does not exist is kept as written
	display  string // with slashes; relative to the root if inside
	inside   bool   // of the root
	spill    bool   // inside the spill store: free to read
	info     fs.FileInfo
	dangling bool // a link leads to something that does not exist

	secret    bool // the file's name, as given or resolved, is that of a secret
	protected bool // changing it could make other programs run something
}

func (l location) exists() bool { return l.info != nil }
func (l location) isDir() bool  { return l.info != nil && l.info.IsDir() }

// scope returns the directory that has to be granted for a location outside.
func (l location) scope() string {
	if l.isDir() {
		return l.abs
	}
	return filepath.Dir(l.abs)
}

const (
	maxNameBytes = 4096
	maxPartBytes = 255
	maxLinks     = 40
)

// checkName refuses what no system call should see.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the path is empty; give a file or directory name")
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("the path %q contains a NUL byte", clip(name, 80))
	case len(name) > maxNameBytes:
		return fmt.Errorf("the path is longer than %d bytes", maxNameBytes)
	case !utf8.ValidString(name):
		return fmt.Errorf("the path %q is not valid UTF-8", clip(name, 80))
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if len(part) > maxPartBytes {
			return fmt.Errorf("the path has a name of %d bytes (%q); file names have at most %d", len(part), clip(part, 40), maxPartBytes)
		}
	}
	return nil
}

// resolve says where name leads. A name that does not exist is no error; one
// that cannot exist, because a file stands where a directory is needed, is.
func (f *fsys) resolve(name string) (location, error) { return f.resolveFrom(f.dir, name) }

// resolveFrom is resolve for names relative to dir, which is absolute.
func (f *fsys) resolveFrom(dir, name string) (location, error) {
	if err := checkName(name); err != nil {
		return location{}, err
	}
	abs := filepath.FromSlash(name)
	if !filepath.IsAbs(abs) {
		if filepath.VolumeName(abs) != "" {
			return location{}, fmt.Errorf("the path %q is relative to a drive; write it from the root directory on", name)
		}
		// Not Join: it would drop ".." before links are followed.
		abs = dir + string(filepath.Separator) + abs
	}
	l := location{given: name}
	passed, err := f.follow(&l, abs)
	if err != nil {
		return location{}, fmt.Errorf("%s: %w", name, err)
	}
	l.inside = within(f.dir, l.abs)
	l.spill = f.spill != "" && within(f.spill, l.abs)
	l.display = filepath.ToSlash(l.abs)
	if l.inside {
		l.display = f.rel(l.abs)
	}
	for _, p := range append(passed, l.abs) {
		at := filepath.ToSlash(p)
		if within(f.dir, p) {
			at = f.rel(p)
		}
		l.secret = l.secret || f.names.secret(at)
		l.protected = l.protected || f.names.protected(at)
	}
	l.protected = l.protected || l.spill
	if !l.inside && isKernelPath(l.abs) {
		return location{}, fmt.Errorf("%s is in a directory of the kernel or of devices; use bash if you need it", name)
	}
	return l, nil
}

// follow fills in where abs leads and returns the names of the links on the way.
func (f *fsys) follow(l *location, abs string) (passed []string, err error) {
	vol := filepath.VolumeName(abs)
	sep := string(filepath.Separator)
	cur := vol + sep
	todo := strings.Split(abs[len(vol):], sep)
	links, missing, viaLink := 0, false, false
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, part)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing, l.info = true, nil
			l.dangling = l.dangling || viaLink
			cur = next
			continue
		case errors.Is(err, syscall.ENOTDIR):
			return nil, fmt.Errorf("%s is a file, not a directory", cur)
		case err != nil:
			return nil, plainError(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			cur, l.info = next, info
			continue
		}
		if links++; links > maxLinks {
			return nil, errLinks
		}
		target, err := os.Readlink(next)
		if err != nil {
			return nil, plainError(err)
		}
		passed = append(passed, next)
		viaLink = true
		if filepath.IsAbs(target) {
			v := filepath.VolumeName(target)
			cur, target = v+sep, target[len(v):]
		}
		todo = append(strings.Split(filepath.FromSlash(target), sep), todo...)
	}
	l.abs = cur
	// After "..", or for the root itself, cur is not what was looked at last.
	if l.info, err = os.Lstat(cur); err != nil {
		l.info = nil
		if !errors.Is(err, fs.ErrNotExist) && !missing {
			return nil, plainError(err)
		}
	}
	return passed, nil
}

func (f *fsys) rel(abs string) string {
	r, err := filepath.Rel(f.dir, abs)
	if err != nil {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(r)
}

// within reports whether the resolved path p is dir or below it.
func within(dir, p string) bool {
	r, err := filepath.Rel(dir, p)
	return err == nil && (r == "." || filepath.IsLocal(r))
}

func isKernelPath(abs string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	for _, d := range []string{"/proc", "/sys", "/dev"} {
		if within(d, abs) {
			return true
		}
	}
	return false
}
