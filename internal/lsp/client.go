package lsp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Options say what a [Client] works on.
type Options struct {
	Root    string   // the workspace; absolute, links resolved
	Servers []Server // the first that is for a file answers
	Env     []string // the whole environment of servers
	Files   Files    // nil means the files as they are

	// Start starts a server for tests; nil means its program.
	Start func(cfg *Server, root string) (Process, error)
}

// Client is the language servers of one workspace. It is safe for concurrent use.
type Client struct {
	opt     Options
	servers []*Server

	ctx    context.Context
	cancel context.CancelFunc
	opens  chan struct{} // a slot for each file that is being opened without being waited for

	mu      sync.Mutex
	closed  bool
	wg      sync.WaitGroup
	started map[string]*server // by name and root
}

// maxOpening is how many files are being opened at once without being waited for;
// what comes beyond that is opened when it is asked about.
const maxOpening = 16

// New returns a client that has not started anything yet. Close ends what it starts.
func New(opt Options) *Client {
	c := &Client{opt: opt, started: make(map[string]*server), opens: make(chan struct{}, maxOpening)}
	if c.opt.Files == nil {
		c.opt.Files = diskFiles{opt.Root}
	}
	for _, s := range opt.Servers {
		c.servers = append(c.servers, s.withDefaults())
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends all servers, politely first, and waits for them: three seconds or so
// at most. Calls fail with ErrClosed from then on.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	return nil
}

// own runs f in a goroutine that Close waits for.
func (c *Client) own(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.wg.Go(f)
	return nil
}

// Serves reports whether a server is configured for the file.
func (c *Client) Serves(path string) bool {
	return slices.ContainsFunc(c.servers, func(s *Server) bool { return s.language(path) != "" })
}

// Open lets the servers for a file load it. It returns at once.
func (c *Client) Open(path string) {
	if !c.Serves(path) {
		return
	}
	select {
	case c.opens <- struct{}{}:
	default:
		return
	}
	err := c.own(func() {
		defer func() { <-c.opens }()
		for _, srv := range c.serversFor(path) {
			if cur, wait, err := srv.current(); err == nil && wait == 0 {
				_ = cur.reload(path) // it is tried again when the file is asked about
			}
		}
	})
	if err != nil {
		<-c.opens
	}
}

// serversFor returns the servers that are for a file, in the order of the
// configuration.
func (c *Client) serversFor(path string) []*server {
	var out []*server
	for _, cfg := range c.servers {
		if cfg.language(path) != "" {
			out = append(out, c.server(cfg, c.rootOf(cfg, path)))
		}
	}
	return out
}

func (c *Client) server(cfg *Server, root string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cfg.Name + "\x00" + root
	s := c.started[key]
	if s == nil {
		s = &server{client: c, cfg: cfg, root: root}
		c.started[key] = s
	}
	return s
}

// Status says what the servers for a file, or all that run, are doing before they
// can answer: "gopls is starting", "gopls: Loading packages (40%)"; "" if nothing.
func (c *Client) Status(path string) string {
	servers := c.workspaceServers()
	if path != "" {
		servers = c.serversFor(path)
	}
	var out []string
	for _, srv := range servers {
		cur := srv.running()
		if cur == nil {
			continue
		}
		select {
		case <-cur.ready:
			if w := cur.working(); w != "" {
				out = append(out, srv.cfg.Name+": "+w)
			}
		default:
			out = append(out, srv.cfg.Name+" is starting")
		}
	}
	return strings.Join(out, ", ")
}

// rootOf returns the directory that the server for a file is to work in. A file
// outside of the workspace, such as one of a library, belongs to a server that
// runs already.
func (c *Client) rootOf(cfg *Server, path string) string {
	if !inside(c.opt.Root, path) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, key := range sortedKeys(c.started) {
			if s := c.started[key]; s.cfg == cfg && s.running() != nil {
				return s.root
			}
		}
		return c.opt.Root
	}
	for _, marker := range cfg.RootMarkers {
		for dir := filepath.Dir(path); inside(c.opt.Root, dir); dir = filepath.Dir(dir) {
			if _, err := c.opt.Files.Stat(filepath.Join(dir, marker)); err == nil {
				return dir
			}
			if dir == c.opt.Root {
				break
			}
		}
	}
	return c.opt.Root
}

// workspaceServers returns the servers that may know symbols of the workspace:
// those that run, else those for the workspace itself.
func (c *Client) workspaceServers() []*server {
	c.mu.Lock()
	all := make([]*server, 0, len(c.started))
	for _, key := range sortedKeys(c.started) {
		all = append(all, c.started[key])
	}
	c.mu.Unlock()
	all = slices.DeleteFunc(all, func(s *server) bool { return s.running() == nil })
	if len(all) > 0 {
		return all
	}
	for _, cfg := range c.servers {
		marked := slices.ContainsFunc(cfg.RootMarkers, func(m string) bool {
			_, err := c.opt.Files.Stat(filepath.Join(c.opt.Root, m))
			return err == nil
		})
		if marked || len(c.servers) == 1 {
			all = append(all, c.server(cfg, c.opt.Root))
		}
	}
	return all
}

// noServer says that nothing is configured for a file, and what there is.
func (c *Client) noServer(path string) error {
	what := "files named " + filepath.Base(path)
	if ext := filepath.Ext(path); ext != "" {
		what = ext + " files"
	}
	var names []string
	for _, s := range c.servers {
		exts, files := s.watched()
		files = slices.DeleteFunc(files, func(n string) bool { return s.Languages[n] == "" })
		names = append(names, fmt.Sprintf("%s (%s)", s.Name, strings.Join(append(exts, files...), " ")))
	}
	return fmt.Errorf("%w is configured for %s; there is %s. Use grep and read instead", ErrNoServer, what, cmp.Or(strings.Join(names, ", "), "none at all"))
}

// linesOf reads a file that no server has open; nil if it is not to be looked at.
func (c *Client) linesOf(path string) *Lines {
	text, err := c.opt.Files.Text(path)
	if err != nil {
		return nil
	}
	return NewLines(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
