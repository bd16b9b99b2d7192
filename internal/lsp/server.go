package lsp

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Server says how a language server is started and what it is for.
type Server struct {
	Name    string   // how it is called in messages
	Command string   // a path, or a name that is looked up in PATH
	Args    []string // without the command
	Env     []string // "NAME=value" over [Options].Env

	// Languages are the files that the server is for: the language id of the
	// protocol by extension (".go": "go") or by whole name ("go.mod": "go.mod").
	Languages map[string]string
	// RootMarkers are names of files, the most telling first. The nearest directory
	// above a file that has the first of them is the root of its server; else the
	// second counts, and so on, else the workspace.
	RootMarkers []string

	InitOptions any            // initializationOptions
	Settings    map[string]any // what workspace/configuration is answered with, by section
	Hint        string         // how to install it

	StartTimeout   time.Duration // for the handshake; 0 means 30 s
	RequestTimeout time.Duration // for one answer; 0 means 20 s
	IdleTimeout    time.Duration // after which an unused server is ended; 0 means 10 min, negative never
}

func (s Server) withDefaults() *Server {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&s.StartTimeout, 30 * time.Second}, {&s.RequestTimeout, 20 * time.Second}, {&s.IdleTimeout, 10 * time.Minute}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(s.Command), ".exe")
	}
	return &s
}

// language returns the language id of a file, "" if the server is not for it.
func (s *Server) language(path string) string {
	base := strings.ToLower(filepath.Base(path))
	if id, ok := s.Languages[base]; ok {
		return id
	}
	return s.Languages[filepath.Ext(base)]
}

// settings answers one item of workspace/configuration: the value at a path of
// names, such as "python.analysis"; nil if there is none.
func (s *Server) settings(section string) any {
	if section == "" {
		if s.Settings == nil {
			return nil
		}
		return s.Settings
	}
	if v, ok := s.Settings[section]; ok {
		return v
	}
	var v any = s.Settings
	for name := range strings.SplitSeq(section, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if v, ok = m[name]; !ok {
			return nil
		}
	}
	return v
}

// watched returns the patterns of files whose changes the server wants to hear of.
func (s *Server) watched() (exts, names []string) {
	for k := range s.Languages {
		if strings.HasPrefix(k, ".") {
			exts = append(exts, k)
		} else {
			names = append(names, k)
		}
	}
	names = append(names, s.RootMarkers...)
	slices.Sort(exts)
	slices.Sort(names)
	return exts, slices.Compact(names)
}
