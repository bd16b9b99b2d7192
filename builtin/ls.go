package builtin

import (
	"context"
	_ "embed" // descriptions
	"fmt"
	"strings"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/internal/fsroot"
)

//go:embed ls.md
var lsDescription string

type listInput struct {
	Path   string   `json:"path,omitempty" jsonschema:"directory (default: the project)" alias:"directory,dir,dir_path,filePath,file_path"`
	Depth  int      `json:"depth,omitempty" jsonschema:"levels of directories to show (default 3)" minimum:"1" maximum:"20"`
	All    bool     `json:"all,omitempty" jsonschema:"show ignored entries too" alias:"show_hidden,no_ignore"`
	Long   bool     `json:"long,omitempty" jsonschema:"show size and time"`
	Ignore []string `json:"ignore,omitempty" jsonschema:"name patterns to leave out, as *.log"`
	Offset int      `json:"offset,omitempty" jsonschema:"first entry of the directory to show, from 1"`
	Limit  int      `json:"limit,omitempty" jsonschema:"number of entries to show" minimum:"1" maximum:"5000"`
}

func defineLs(ts *Toolset) (operation, error) {
	return define(ts, tool.Def{
		Name: "ls", Title: "List", Description: strings.TrimSpace(lsDescription),
		Hints:    tool.Hints{ReadOnly: true, Idempotent: true},
		Parallel: true, MaxOutput: -1,
		Aliases: []string{"list", "list_directory", "list_dir", "listdir", "dir", "tree"},
	}, ts.planLs)
}

func (ts *Toolset) planLs(ctx context.Context, call *tool.Call, in listInput) (*plan, error) {
	if in.Path == "" {
		in.Path = "."
	}
	for _, pat := range in.Ignore {
		if _, err := compileIgnore(pat); err != nil {
			return nil, fmt.Errorf("ignore: %q is not a pattern", pat)
		}
	}
	l, note, err := ts.find(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	if !l.spill {
		p.asks = ts.spared(call, l, append(ts.askOutside(l), ask{req: pathRequest("list", "List "+oneLine(l.display), l.display, false)}))
	}
	fail := ts.missing(ctx, l)
	if fail == nil && !l.isDir() {
		fail = &fsroot.PathError{Path: l.given, Why: "is a file, not a directory; use read", Err: fsroot.ErrNotDir}
	}
	if fail != nil {
		if ts.open(l) {
			return nil, fail
		}
		p.fail = fail
		return p, nil
	}
	p.apply = func(ctx context.Context, _ *tool.Call) (*outcome, error) {
		res, err := ts.listing(ctx, l, in, "ls")
		if err != nil {
			return nil, err
		}
		if note != "" {
			res.Text = "(" + note + ")\n" + res.Text
		}
		return &outcome{result: res}, nil
	}
	return p, nil
}
