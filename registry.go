package tool

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agenttool/tool/schema"
)

// Registry holds the tools of a host. The zero value is ready for use. All
// methods are safe for concurrent use; reading takes no lock.
type Registry struct {
	mu    sync.Mutex // serialises writers
	state atomic.Pointer[registryState]
}

// registryState is never changed once it is stored.
type registryState struct {
	tools   map[string]Tool
	order   []string // names, in the order of Add
	sources []Source
}

func (r *Registry) load() *registryState {
	if s := r.state.Load(); s != nil {
		return s
	}
	return &registryState{}
}

// A Source supplies tools that come and go: an MCP server's, a plugin's, a
// connected client's. Tools is called for every [Registry.Resolve], from several
// goroutines at once, and yields the tools that agent may see. An error beside a
// nil Tool says that something could not be listed; the rest goes on.
type Source interface {
	Tools(ctx context.Context, agent *Agent) iter.Seq2[Tool, error]
}

// A Filter reports whether agent is offered the tool. It must not change spec.
type Filter func(agent *Agent, spec *Spec) bool

// Add adds tools, all or none. A nil tool, a bad name, or a name that is taken is an error.
func (r *Registry) Add(ts ...Tool) error {
	names := make([]string, len(ts))
	for i, t := range ts {
		if t == nil {
			return errors.New("registry: nil tool")
		}
		names[i] = t.Name()
		if err := CheckName(names[i]); err != nil {
			return fmt.Errorf("registry: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.load()
	next := &registryState{tools: make(map[string]Tool, len(old.tools)+len(ts)), order: slices.Clip(old.order), sources: old.sources}
	maps.Copy(next.tools, old.tools)
	for i, t := range ts {
		if _, taken := next.tools[names[i]]; taken {
			return fmt.Errorf("registry: there is already a tool %q", names[i])
		}
		next.tools[names[i]] = t
		next.order = append(next.order, names[i])
	}
	r.state.Store(next)
	return nil
}

// AddSource adds a source. Where a name appears twice, tools that were added by
// [Registry.Add] come first, then sources in the order they were added.
func (r *Registry) AddSource(s Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := *r.load()
	next.sources = append(slices.Clip(next.sources), s)
	r.state.Store(&next)
}

// Remove removes the tool that was added under name and reports whether there
// was one. Sets that were resolved before still have it.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.load()
	if _, ok := old.tools[name]; !ok {
		return false
	}
	next := *old
	next.tools = maps.Clone(old.tools)
	delete(next.tools, name)
	next.order = slices.DeleteFunc(slices.Clone(old.order), func(n string) bool { return n == name })
	r.state.Store(&next)
	return true
}

// Lookup returns the tool that was added under exactly this name. Tools of sources are not looked up.
func (r *Registry) Lookup(name string) (Tool, bool) {
	t, ok := r.load().tools[name]
	return t, ok
}

// All yields the added tools in the order they were added. Tools of sources are not among them.
func (r *Registry) All() iter.Seq[Tool] {
	s := r.load()
	return func(yield func(Tool) bool) {
		for _, name := range s.order {
			if !yield(s.tools[name]) {
				return
			}
		}
	}
}

// Resolve returns what agent, which may be nil, is offered in a turn. The Set is
// never nil and is usable even beside an error: the error only names the tools
// and sources that had to be left out, each as a *[ResolveError], so that one
// broken server or one bad name does not cost the turn. A tool is left out when
// its Spec fails, its name is bad or taken, or its schema does not pass
// [schema.Check] or is for something else than an object. Hidden and filtered tools are left out silently.
func (r *Registry) Resolve(ctx context.Context, agent *Agent, keep ...Filter) (*Set, error) {
	st := r.load()
	set := &Set{byName: make(map[string]entry, len(st.order))}
	var errs []error
	fail := func(name string, err error) { errs = append(errs, &ResolveError{Tool: name, Err: err}) }
	for _, name := range st.order {
		if err := set.add(ctx, agent, st.tools[name], keep); err != nil {
			fail(name, err)
		}
	}
	for _, src := range st.sources {
		err := guard(func() error {
			for t, err := range src.Tools(ctx, agent) {
				if err != nil {
					fail("", err)
				}
				if t == nil {
					continue
				}
				if err := set.add(ctx, agent, t, keep); err != nil {
					fail(nameOf(t), err)
				}
			}
			return nil
		})
		if err != nil {
			fail("", err)
		}
	}
	set.finish()
	return set, errors.Join(errs...)
}

// nameOf returns the name of a stranger's tool, "" if it panics instead of telling.
func nameOf(t Tool) (name string) {
	_ = guard(func() error { name = t.Name(); return nil })
	return name
}

// guard turns a panic of foreign code into an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Set is what one agent is offered in one turn: both the list that the model is
// shown and the only thing dispatch consults. It never changes and is safe for concurrent use.
type Set struct {
	byName  map[string]entry
	aliases map[string]string // alias to name; an alias never hides a name
	sorted  []*Spec
}

type entry struct {
	tool Tool
	spec *Spec
}

// NewSet returns a Set of just these tools, for hosts and tests without a
// Registry. It fails where [Registry.Resolve] would leave a tool out.
func NewSet(ctx context.Context, agent *Agent, ts ...Tool) (*Set, error) {
	var r Registry
	if err := r.Add(ts...); err != nil {
		return nil, err
	}
	return r.Resolve(ctx, agent)
}

func (s *Set) add(ctx context.Context, agent *Agent, t Tool, keep []Filter) error {
	var (
		name string
		spec *Spec
	)
	err := guard(func() (err error) {
		name = t.Name()
		spec, err = t.Spec(ctx, agent)
		return err
	})
	if errors.Is(err, ErrHidden) {
		return nil
	}
	if err != nil {
		return err
	}
	if spec == nil {
		return errors.New("no spec")
	}
	if spec.Name != name {
		if spec.Name != "" {
			return fmt.Errorf("its spec is named %q", spec.Name)
		}
		c := *spec
		c.Name = name
		spec = &c
	}
	if err := CheckName(name); err != nil {
		return err
	}
	for _, k := range keep {
		if k != nil && !k(agent, spec) {
			return nil
		}
	}
	if _, taken := s.byName[name]; taken {
		return errors.New("its name is taken")
	}
	if len(spec.Input) == 0 {
		return errors.New("no input schema")
	}
	if !sameBytes(spec.Input, spec.checked) {
		if err := schema.Check(spec.Input); err != nil {
			return err
		}
		if !takesObject(spec.Input) {
			return errors.New("its input schema is not for an object")
		}
	}
	s.byName[name] = entry{t, spec}
	s.sorted = append(s.sorted, spec)
	return nil
}

// sameBytes reports whether a and b are one slice.
func sameBytes(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

func (s *Set) finish() {
	slices.SortFunc(s.sorted, func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) })
	for _, spec := range s.sorted {
		for _, a := range spec.Aliases {
			if _, isName := s.byName[a]; isName {
				continue
			}
			if s.aliases == nil {
				s.aliases = make(map[string]string)
			}
			if _, taken := s.aliases[a]; !taken {
				s.aliases[a] = spec.Name
			}
		}
	}
}

// Specs yields what is offered, sorted by name, so that the model's prompt stays the same.
func (s *Set) Specs() iter.Seq[*Spec] {
	return func(yield func(*Spec) bool) {
		if s == nil {
			return
		}
		for _, spec := range s.sorted {
			if !yield(spec) {
				return
			}
		}
	}
}

// Len returns the number of tools. A nil Set has none.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.sorted)
}

// Has reports whether a tool of exactly this name is offered.
func (s *Set) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.byName[name]
	return ok
}

// Lookup finds the tool for a name as a model wrote it: exactly, by alias, or by
// the only name or alias that differs in nothing but case. Otherwise the error is
// a *[NotFoundError]. A nil Set offers nothing.
func (s *Set) Lookup(name string) (Tool, *Spec, error) {
	if s != nil {
		if e, ok := s.byName[name]; ok {
			return e.tool, e.spec, nil
		}
		if n, ok := s.aliases[name]; ok {
			e := s.byName[n]
			return e.tool, e.spec, nil
		}
		if n, ok := s.foldMatch(name); ok {
			e := s.byName[n]
			return e.tool, e.spec, nil
		}
	}
	return nil, nil, s.notFound(name)
}

// foldMatch finds the one tool whose name or alias equals name but for case.
func (s *Set) foldMatch(name string) (string, bool) {
	found := ""
	for _, spec := range s.sorted {
		hit := strings.EqualFold(spec.Name, name)
		for _, a := range spec.Aliases {
			hit = hit || strings.EqualFold(a, name)
		}
		if hit {
			if found != "" && found != spec.Name {
				return "", false
			}
			found = spec.Name
		}
	}
	return found, found != ""
}

func (s *Set) notFound(name string) error {
	e := &NotFoundError{Name: name}
	if s == nil {
		return e
	}
	for _, spec := range s.sorted {
		e.Available = append(e.Available, spec.Name)
	}
	e.Nearest = nearest(name, s)
	return e
}

// nearest returns up to three names that a misspelt one may have meant, best
// first: those at a small edit distance, by name or alias, or sharing a word.
func nearest(name string, s *Set) []string {
	type scored struct {
		name  string
		score int
	}
	want := foldName(clip(name, maxName))
	var hits []scored
	for _, spec := range s.sorted {
		best := score(want, foldName(spec.Name))
		for _, a := range spec.Aliases {
			best = min(best, score(want, foldName(a)))
		}
		if best >= 0 && best < 1000 {
			hits = append(hits, scored{spec.Name, best})
		}
	}
	slices.SortStableFunc(hits, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, h := range hits[:min(3, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// foldName drops case and separators, so that readFile, read_file and read-file are one.
func foldName(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(s))
}

// score is lower for names more alike; 1000 is not alike.
func score(a, b string) int {
	if a == "" || b == "" {
		return 1000
	}
	d := editDistance(a, b)
	if d <= max(1, min(len(a), len(b))/3) {
		return d
	}
	if len(b) >= 3 && strings.Contains(a, b) || len(a) >= 3 && strings.Contains(b, a) {
		return 100 + d
	}
	return 1000
}

// editDistance is Levenshtein's with swaps of neighbours as one step, over bytes.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost = 1 + min(last[j], last[j+1], row[j])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					cost = min(cost, before[j-1]+1)
				}
			}
			row[j+1] = cost
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
