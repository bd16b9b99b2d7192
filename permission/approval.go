package permission

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agenttool/tool"
)

// Scope says how far a remembered approval reaches.
type Scope string

// The scopes. The empty Scope means [ScopeSession] wherever one is chosen.
const (
	ScopeSession Scope = "session" // the session it was given in and those it started; forgotten with it
	ScopeProject Scope = "project" // every session of one project, see [Gate.Project]
	ScopeUser    Scope = "user"    // everywhere
)

// Approval is a remembered "always". It turns a question about its permission
// into consent where its pattern matches, and never lifts a deny.
type Approval struct {
	ID         string    `json:"id"`
	Permission string    `json:"permission"` // exactly this one; not a wildcard
	Pattern    string    `json:"pattern"`    // see [Match]; for Protected requests exactly this text, or one that such a request offers and judges
	Scope      Scope     `json:"scope"`
	SessionID  string    `json:"sessionID,omitempty"` // with ScopeSession
	Project    string    `json:"project,omitempty"`   // with ScopeProject
	Created    time.Time `json:"created"`
	Origin     string    `json:"origin,omitempty"` // what was asked when it was given, in display form
}

// covers reports whether a consents to pattern in req.
func (a *Approval) covers(req *tool.Request, pattern string) bool {
	if a.Permission != req.Permission {
		return false
	}
	if req.Protected {
		return a.Pattern == pattern
	}
	return Match(a.Pattern, pattern)
}

// same reports whether a and b grant the same.
func (a *Approval) same(b *Approval) bool {
	return a.Permission == b.Permission && a.Pattern == b.Pattern && a.Scope == b.Scope &&
		a.SessionID == b.SessionID && a.Project == b.Project
}

// check says what makes a unfit to be kept, so that no grant comes from nonsense.
func (a *Approval) check() error {
	switch {
	case a.ID == "":
		return errors.New("an approval has no id")
	case a.Permission == "":
		return fmt.Errorf("approval %s has no permission", clip(a.ID, 80))
	case len(a.Pattern) > maxPattern:
		return fmt.Errorf("approval %s has a pattern over %d bytes", clip(a.ID, 80), maxPattern)
	}
	switch a.Scope {
	case ScopeSession, ScopeUser:
		return nil
	case ScopeProject:
		if a.Project == "" {
			return fmt.Errorf("approval %s names no project", clip(a.ID, 80))
		}
		return nil
	}
	return fmt.Errorf("approval %s has the unknown scope %q", clip(a.ID, 80), clip(string(a.Scope), 40))
}

func newApprovalID() string { return "appr_" + rand.Text() }

// A Store keeps approvals beyond a session. A [Gate] asks it each time before it
// asks a person, and not while it holds a lock. Implementations are safe for
// concurrent use. What List returns is not trusted blindly: the gate ignores
// approvals of session scope and of other projects.
type Store interface {
	// List returns all approvals. A store that cannot be read is an error, which
	// a gate treats as having no approvals.
	List(ctx context.Context) ([]Approval, error)
	// Add adds approvals, all or none. One that grants the same as one already there replaces it.
	Add(ctx context.Context, as ...Approval) error
	// Remove removes the approval with this id and reports whether there was one.
	Remove(ctx context.Context, id string) (bool, error)
}

// MemoryStore is a [Store] that lasts as long as the process. The zero value is ready for use.
type MemoryStore struct {
	mu   sync.Mutex
	list []Approval
}

// List returns a copy of the approvals, oldest first.
func (m *MemoryStore) List(context.Context) ([]Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list), nil
}

// Add adds approvals. It fails only for approvals that are not valid, or when there are too many.
func (m *MemoryStore) Add(_ context.Context, as ...Approval) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := merge(m.list, as)
	if err == nil {
		m.list = list
	}
	return err
}

// Remove removes an approval.
func (m *MemoryStore) Remove(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, ok := without(m.list, id)
	m.list = list
	return ok, nil
}

// maxApprovals bounds what one store or session remembers.
const maxApprovals = 4096

// merge returns list with as added, in a new slice.
func merge(list, as []Approval) ([]Approval, error) {
	out := slices.Clone(list)
	for _, a := range as {
		if err := a.check(); err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(b Approval) bool { return b.same(&a) || b.ID == a.ID })
		out = append(out, a)
	}
	if len(out) > maxApprovals {
		return nil, fmt.Errorf("more than %d approvals", maxApprovals)
	}
	return out, nil
}

// without returns list less the approval with this id, in a new slice.
func without(list []Approval, id string) ([]Approval, bool) {
	i := slices.IndexFunc(list, func(a Approval) bool { return a.ID == id })
	if i < 0 {
		return list, false
	}
	return slices.Delete(slices.Clone(list), i, i+1), true
}
