package ignore

import "bytes"

// A Level is a directory with what its ignore files say, linked to the one
// above. Levels are immutable; a directory without ignore files uses the level
// of its parent. The nil Level ignores nothing.
//
// Sources in falling precedence: .rgignore, .ignore, .gitignore, the exclude
// file of the repository, the user's. Within one source the deepest directory
// that has an opinion wins. The rules for git of an outer repository end where
// a nested one begins.
type Level struct {
	Parent *Level
	// Dir is the length of the directory's path, counting the slash behind it:
	// what is cut from a path to make it relative to the directory.
	Dir int
	// Repository says that the directory is the top of a git repository.
	Repository bool

	RgIgnore  *Rules // .rgignore
	Ignore    *Rules // .ignore
	GitIgnore *Rules // .gitignore; of no effect outside a repository
	Exclude   *Rules // the repository's own exclude file; only with Repository
	// User is the user's excludes file; of no effect outside a repository. With
	// Repository it is one that this repository, and none within it, has instead.
	User *Rules
}

// Match returns the verdict on path, which must lie below the level's directory
// and is relative to where Dir counts from. Directories above it are taken to be
// not ignored.
func (l *Level) Match(path []byte, isDir bool) Verdict {
	for x := l; x != nil; x = x.Parent {
		if x.RgIgnore != nil {
			if v := x.RgIgnore.Match(path[x.Dir:], isDir); v != None {
				return v
			}
		}
	}
	for x := l; x != nil; x = x.Parent {
		if x.Ignore != nil {
			if v := x.Ignore.Match(path[x.Dir:], isDir); v != None {
				return v
			}
		}
	}
	repo := l
	for repo != nil && !repo.Repository {
		repo = repo.Parent
	}
	if repo != nil {
		for x := l; ; x = x.Parent {
			if x.GitIgnore != nil {
				if v := x.GitIgnore.Match(path[x.Dir:], isDir); v != None {
					return v
				}
			}
			if x == repo {
				break
			}
		}
	}
	if repo == nil {
		return None
	}
	if v := repo.Exclude.Match(path[repo.Dir:], isDir); v != None {
		return v
	}
	for x := repo; x != nil; x = x.Parent {
		if x.User != nil && (x == repo || !x.Repository) {
			return x.User.Match(path[repo.Dir:], isDir)
		}
	}
	return None
}

// Within returns the verdict on a path whose parents may be ignored too: a path
// in an ignored directory is ignored, whatever its own rules say.
func (l *Level) Within(path []byte, isDir bool) Verdict {
	from := 0
	if l != nil {
		from = l.Dir
	}
	for i := from; i < len(path); i++ {
		if path[i] == '/' && l.Match(path[:i], true) == Ignored {
			return Ignored
		}
	}
	if bytes.HasSuffix(path, []byte("/")) {
		return None
	}
	return l.Match(path, isDir)
}
