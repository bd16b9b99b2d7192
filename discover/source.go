package discover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool"
)

const (
	maxManifests = 500      // of one directory
	maxProgram   = 64 << 20 // bytes of a program that are read to know it again
)

// Source is a [tool.Source] of the tools that are found in directories. Dirs and
// Root are required. The directories are looked at each time the tools are asked
// for, and what did not change is not read again. The fields must not change once
// it is in use. It is safe for concurrent use and must not be copied.
type Source struct {
	// Dirs are configuration directories, absolute; one that does not exist has no
	// tools, until it does. Of tools with the same name the first counts.
	Dirs []string

	// Root is the working directory of the programs, absolute.
	Root string

	// Keep are patterns of environment variables that programs get although they
	// look like secrets, such as "MY_API_*". Nil: none.
	Keep []string

	mu    sync.Mutex
	cache map[string]*found // by the path of the manifest
}

// found is a manifest that was read.
type found struct {
	stats []stamp // of the manifest and its files: while they are the same, so is the rest
	when  time.Time
	tool  tool.Tool
}

// stamp is what the file system says about a file.
type stamp struct {
	path  string
	size  int64
	mtime time.Time
	mode  fs.FileMode
}

// racy is how long a file may change without another time.
const racy = 2 * time.Second

// Tools yields the tools that are there now, and an error for each manifest that
// cannot be used, and for each whose name an earlier one has.
func (s *Source) Tools(ctx context.Context, _ *tool.Agent) iter.Seq2[tool.Tool, error] {
	return func(yield func(tool.Tool, error) bool) {
		taken := make(map[string]string)
		if !filepath.IsAbs(s.Root) {
			yield(nil, errors.New("discover: Root is not absolute"))
			return
		}
		for _, dir := range s.Dirs {
			files, err := manifests(dir)
			if err != nil && !yield(nil, err) {
				return
			}
			for _, file := range files {
				if ctx.Err() != nil {
					return
				}
				t, err := s.load(dir, file)
				if err == nil {
					if first, again := taken[t.Name()]; again {
						err = fmt.Errorf("there is a tool %q in %s already", t.Name(), first)
					} else {
						taken[t.Name()] = file
					}
				}
				if err != nil {
					if !yield(nil, fmt.Errorf("%s: %w", file, err)) {
						return
					}
					continue
				}
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// manifests lists the manifests of a configuration directory.
func manifests(dir string) (files []string, err error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("discover: the directory %q is not absolute", dir)
	}
	for _, sub := range []string{"tool", "tools"} {
		list, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
		for _, e := range list {
			if name := e.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
				files = append(files, filepath.Join(dir, sub, name))
			}
		}
	}
	if len(files) > maxManifests {
		return files[:maxManifests], fmt.Errorf("%s has more than %d manifests; the rest is left out", dir, maxManifests)
	}
	return files, nil
}

// load returns the tool of a manifest, from the cache if nothing changed.
func (s *Source) load(dir, file string) (tool.Tool, error) {
	s.mu.Lock()
	had := s.cache[file]
	s.mu.Unlock()
	if had != nil && had.fresh() {
		return had.tool, nil
	}
	f := &found{when: time.Now()}
	p, err := s.read(dir, file)
	if err != nil {
		return nil, err
	}
	f.stats = p.stats()
	if f.tool, err = p.tool(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil || len(s.cache) > 4*maxManifests {
		s.cache = make(map[string]*found)
	}
	s.cache[file] = f
	return f.tool, nil
}

// fresh reports whether the files are as they were.
func (f *found) fresh() bool {
	for _, st := range f.stats {
		if f.when.Sub(st.mtime) < racy || stampOf(st.path) != st {
			return false
		}
	}
	return true
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{path: path}
	}
	return stamp{path, info.Size(), info.ModTime(), info.Mode()}
}

// program is a tool as its manifest and files say.
type program struct {
	*manifest
	source *Source
	dir    string   // configuration directory
	file   string   // the manifest
	argv   []string // with files as absolute names
	files  []string // of those, resolved
	digest string   // of the manifest and these files
}

// stats returns what the file system says about the files now.
func (p *program) stats() []stamp {
	out := []stamp{stampOf(p.file)}
	for _, f := range p.files {
		out = append(out, stampOf(f))
	}
	return out
}

// read reads a manifest and finds its files.
func (s *Source) read(dir, file string) (*program, error) {
	data, err := contentOf(dir, file, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data, strings.TrimSuffix(filepath.Base(file), ".json"))
	if err != nil {
		return nil, err
	}
	p := &program{manifest: m, source: s, dir: dir, file: file}
	sum := sha256.New()
	sum.Write(data)
	for i, word := range m.Command {
		if isFile := strings.HasPrefix(word, "./") || i == 0 && strings.ContainsAny(word, `/\`); !isFile {
			if i == 0 {
				if word, err = exec.LookPath(word); err != nil {
					return nil, fmt.Errorf("its program is not in PATH: %w", err)
				}
				if word, err = filepath.Abs(word); err != nil {
					return nil, err
				}
			}
			p.argv = append(p.argv, word)
			continue
		}
		name := word
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), filepath.FromSlash(word))
		}
		p.files = append(p.files, name)
		p.argv = append(p.argv, name)
		content, err := contentOf(dir, name, maxProgram)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if err := executable(name); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(sum, "\x00%d\x00", len(content))
		sum.Write(content)
	}
	sum.Write([]byte(strings.Join(p.argv, "\x00")))
	p.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil)[:16])
	return p, nil
}

// contentOf reads a regular file that is below dir, links followed.
func contentOf(dir, name string, most int64) ([]byte, error) {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s leads out of %s", name, dir)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return data, err
}

// again reads the manifest and its files anew and says whether they are as they were.
func (p *program) again() error {
	now, err := p.source.read(p.dir, p.file)
	if err != nil {
		return err
	}
	if now.digest != p.digest {
		return fmt.Errorf("%s has changed since it was offered; call it again in the next turn", p.Name)
	}
	return nil
}
