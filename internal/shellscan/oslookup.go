package shellscan

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// OS is the file system of this process as a [DirLookup].
type OS struct{}

// Lstat implements [Lookup].
func (OS) Lstat(name string) (fs.FileMode, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Readlink implements [Lookup].
func (OS) Readlink(name string) (string, error) { return os.Readlink(name) }

var errManyNames = errors.New("too many names")

// Names implements [DirLookup].
func (OS) Names(dir string, max int) ([]string, error) {
	f, err := os.DirFS(dir).Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fs.ErrInvalid
	}
	list, err := d.ReadDir(max + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(list) > max {
		return nil, errManyNames
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names, nil
}
