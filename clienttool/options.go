package clienttool

import (
	"context"
	"log/slog"
	"time"

	"github.com/agenttool/tool"
)

// Options configure a [Hub]. The zero value is safe: anonymous peers are refused
// and all limits are on. Of every duration, zero means the default in brackets.
type Options struct {
	Timeout      time.Duration // of calls that say nothing else [30 s]
	MaxTimeout   time.Duration // cap on what calls and tools ask for [1 h]
	DetachGrace  time.Duration // how long a client may be gone [30 s]; <0: not at all
	CreateGrace  time.Duration // between registering and the first link [30 s]
	AckTimeout   time.Duration // for a client that acknowledges to do so [10 s]; <0: never
	HelloTimeout time.Duration // for the first message on a link [10 s]
	WriteTimeout time.Duration // per frame [10 s]
	PingInterval time.Duration // [30 s]; <0: never
	TombstoneTTL time.Duration // how long ended calls are remembered [10 min]
	DrainTimeout time.Duration // after a client's bye, for what still runs [30 s]

	Limits Limits
	Namer  Namer // nil: [DefaultNamer]

	// Authorize decides what an authenticated peer may do; an error refuses, and
	// its text reaches the peer only for OpAttach. Nil: peers act for their own
	// client ids only, may bind their tools to any session, and run no tools
	// (OpExecute). It may block.
	Authorize func(ctx context.Context, p Peer, op Op, t Target) error

	// AllowAnonymous accepts peers without a Principal. They are all the same
	// principal, so whoever knows a client id can act as that client when it is away.
	AllowAnonymous bool

	// OfferUnbound offers tools that are bound to no session to every agent.
	// Otherwise only agents whose session they are bound to see tools.
	OfferUnbound bool

	// Rate returns the limiter for calls to one client (OpExecute) or for
	// registrations by a principal (OpRegister), nil for none. It is called once
	// for each lease or principal. Nil: what Limits says.
	Rate func(p Peer, op Op) Limiter

	// HostTools returns the tools of the host that an agent may use, for clients that
	// want to know; usually it calls [tool.Registry.Resolve], whose set counts even beside
	// an error. agent is the one whose call the client runs, or else one that has
	// nothing but a SessionID, of a session that tools of the client are bound to. Nil:
	// clients are told of none. Knowing a tool gives no right to it: what a running tool
	// invokes has to pass the executor's approver like any call.
	HostTools func(ctx context.Context, agent *tool.Agent) (*tool.Set, error)

	// OmitEventInputs leaves the arguments of calls out of request events.
	OmitEventInputs bool

	Observer Observer     // nil: none
	Store    Store        // keeps calls over a restart of the host; nil: none
	Logger   *slog.Logger // nil: none
}

// Op is what Authorize is asked about.
type Op string

// The operations.
const (
	OpAttach    Op = "attach"     // open a link as Target.ClientID
	OpRegister  Op = "register"   // register tools, bound to Target.SessionID; also at attach
	OpResult    Op = "result"     // answer a call
	OpList      Op = "list"       // list the tools of Target.ClientID
	OpListAll   Op = "list-all"   // list a tool among all; refused ones are left out
	OpExecute   Op = "execute"    // call Target.Tool for Target.SessionID
	OpHostTools Op = "host-tools" // learn which tools of the host agents of Target.SessionID may use
)

// Target is what an operation is about; fields that do not apply are empty.
type Target struct {
	ClientID  string
	SessionID string
	Tool      string // id
	RequestID string
}

func (o Options) withDefaults() Options {
	for _, f := range []struct {
		p *time.Duration
		d time.Duration
	}{
		{&o.Timeout, 30 * time.Second}, {&o.MaxTimeout, time.Hour},
		{&o.DetachGrace, 30 * time.Second}, {&o.CreateGrace, 30 * time.Second},
		{&o.AckTimeout, 10 * time.Second}, {&o.HelloTimeout, 10 * time.Second}, {&o.WriteTimeout, 10 * time.Second},
		{&o.PingInterval, 30 * time.Second}, {&o.TombstoneTTL, 10 * time.Minute}, {&o.DrainTimeout, 30 * time.Second},
	} {
		if *f.p == 0 {
			*f.p = f.d
		}
	}
	o.Limits = o.Limits.withDefaults()
	if o.Namer == nil {
		o.Namer = DefaultNamer{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
