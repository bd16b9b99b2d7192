package shellscan

import (
	"path"
	"slices"
	"strings"
)

// destination records what is written when files are copied to a name: it, if it is no directory; the names that they get
// there, if it is one. What it is may not be known, then it is both.
func (v *visitor) destination(dst Word, in *parsed, sources []int, words []Word, idx int, st *state) {
	u := use{mode: Write, command: idx}
	recursive := in.has("-r", "-R", "-a", "--recursive", "--archive") || path.Base(words[0].Text) == "mv"
	if recursive {
		u.mode |= Recursive
	}
	dir, file := true, true
	switch {
	case in.has("-T"), !dst.known():
		dir = false
	case in.has("-t", "--target-directory"), len(sources) > 1, strings.HasSuffix(dst.Text, "/"):
		file = false
	case strings.Contains(dst.Text, ":") && !strings.HasPrefix(dst.Text, "/") && !strings.HasPrefix(dst.Text, "."):
		dir = false // on another machine
	default:
		dir, file = v.mayBeDir(dst.Text, st)
	}
	if !dst.known() && !dst.Dynamic { // a pattern for a directory, for which the shell may find several
		u.mode |= Recursive
	}
	if file {
		v.file(dst, st, u)
	} else {
		v.file(dst, st, use{mode: Read | Dir, command: idx})
	}
	if !dir {
		return
	}
	for _, i := range sources {
		src := words[i]
		base := path.Base(src.Text)
		if in.has("--parents") && !src.Dynamic {
			base = src.Text
		}
		contents := strings.HasSuffix(src.Text, "/") && path.Base(words[0].Text) == "rsync"
		switch {
		case src.Dynamic:
			base = "*"
		case base == ".", base == "..", base == "/", contents:
			if recursive { // what is in it, under names that are not looked up
				v.file(dst, st, use{mode: Write | Recursive, command: idx})
			}
			continue
		}
		w := constant(strings.TrimSuffix(dst.Text, "/") + "/" + base)
		if src.Glob || src.Dynamic {
			w = Word{Text: w.Text, Glob: true, pat: w.Text, listed: true}
		}
		v.file(w, st, u)
	}
}

// lastFound handles a pattern in the place of the destination: it is the last of the names that are found.
func (v *visitor) lastFound(in *parsed, ops []int, words []Word, idx int, st *state) {
	last := words[ops[len(ops)-1]]
	dir, names := v.globbed(last, st)
	if len(names) == 0 {
		if !last.listed {
			last = dynamic() // one of the names may be a link to anywhere
		}
		v.file(last, st, use{mode: Write, command: idx})
		return
	}
	for _, n := range names {
		name := path.Join(dir, n)
		if isDir, _ := v.mayBeDir(name, st); isDir {
			v.destination(constant(name+"/"), in, ops, words, idx, st)
		} else {
			v.file(constant(name), st, use{mode: Write, command: idx})
		}
	}
}

// mayBeDir reports whether a name may be a directory when the command runs, and whether it may be something else.
func (v *visitor) mayBeDir(name string, st *state) (dir, other bool) {
	bases := st.dirs
	if strings.HasPrefix(name, "/") {
		bases = []string{"/"}
	}
	if bases == nil || v.s.opts.Lookup == nil {
		return true, true
	}
	for _, b := range bases {
		switch res := v.fs.resolve(b, name, true); {
		case !res.ok:
			return true, true
		case res.exists && res.dir:
			dir = true
		case res.exists, !st.fresh:
			other = true
		default: // something before it may make one
			dir, other = true, true
		}
	}
	return dir, other
}

// after records what a command leaves behind that makes later names unknown.
func (v *visitor) after(p *program, in *parsed, ops []int, words []Word, st *state) {
	if !p.flag("quiet") {
		st.fresh = true
	}
	kind, ok := p.flags["links"]
	if !ok || v.quiet > 0 && len(v.moved) > 8 {
		return
	}
	mark := func(w Word) {
		if !w.known() {
			w = constant(".")
		}
		for _, d := range st.dirs {
			if res := v.fs.resolve(d, w.Text, false); res.ok && !slices.Contains(v.moved, res.path) {
				v.moved = append(slices.Clip(v.moved), res.path)
			}
		}
		if strings.HasPrefix(w.Text, "/") && st.dirs == nil {
			v.moved = append(slices.Clip(v.moved), path.Clean(w.Text))
		}
	}
	switch kind {
	case "last": // ln, mv, cp, rsync
		for _, o := range in.opts {
			if o.name == "-t" || o.name == "--target-directory" {
				mark(o.value)
				return
			}
		}
		if len(ops) > 0 {
			last := words[ops[len(ops)-1]]
			if len(ops) == 1 { // ln -s /x
				last = constant(path.Base(last.Text))
			}
			mark(last)
		}
	case "clone":
		dst := constant(".")
		if len(ops) > 1 {
			dst = words[ops[1]]
		} else if len(ops) == 1 && words[ops[0]].known() {
			dst = constant(strings.TrimSuffix(path.Base(strings.TrimSuffix(words[ops[0]].Text, "/")), ".git"))
		}
		mark(dst)
	default: // extraction into the working directory or -C, -d
		for _, o := range in.opts {
			if o.name == "-C" || o.name == "-d" || o.name == "--directory" {
				mark(o.value)
				return
			}
		}
		if kind != "x" || in.has("-x", "--extract", "--get") || len(ops) > 0 && !strings.HasPrefix(words[1].Text, "-") && strings.Contains(words[1].Text, "x") {
			mark(constant("."))
		}
	}
}
