package clienttool

import (
	"encoding/json"

	"github.com/agenttool/tool"
)

// Protocol is the version that hello and welcome carry.
const Protocol = 1

// The types of messages. Unknown ones are ignored, so that either side may be newer.
const (
	TypeHello          = "hello"            // client: who I am, what I hold
	TypeWelcome        = "welcome"          // host: the link is yours
	TypeRegister       = "register"         // client: tools
	TypeRegistered     = "registered"       // host: ids of the tools that were taken
	TypeUnregister     = "unregister"       // client: ToolIDs; absent means all, empty means none
	TypeUnregistered   = "unregistered"     // host
	TypeRequest        = "request"          // host: run a tool
	TypeResult         = "result"           // client: what came of it
	TypeAck            = "ack"              // client: RequestIDs were received; host: verdict on a result, or on those of RequestIDs
	TypeCancel         = "cancel"           // host: stop, with a Reason
	TypeProgress       = "progress"         // client: how far a call is
	TypeAsk            = "ask"              // client: a running tool asks for permission
	TypeAskReply       = "ask-reply"        // host
	TypeInvoke         = "invoke"           // client: a running tool calls a tool of the host
	TypeInvokeReply    = "invoke-reply"     // host
	TypeHostTools      = "host-tools"       // client: which tools of the host may be invoked; for RequestID, or else for SessionID
	TypeHostToolsReply = "host-tools-reply" // host: Tools, or Code and Error
	TypePing           = "ping"             // either
	TypePong           = "pong"             // either
	TypeSync           = "sync"             // client: Live is what I hold, compare
	TypeBye            = "bye"              // either: the end, with a Reason
	TypeError          = "error"            // either: what was wrong with a message
	TypeToolRequest    = "client-tool-request"
	typeToolResponse   = "client-tool-response" // another name for result
)

// What a client says in hello that it understands.
const (
	CapAck      = "ack"
	CapCancel   = "cancel"
	CapProgress = "progress"
	CapSync     = "sync"
	CapBatch    = "batch" // an ack may be for several results: RequestIDs in place of RequestID
)

// Reasons of cancel and bye.
const (
	ReasonTimeout      = "timeout"
	ReasonCancelled    = "cancelled"
	ReasonSettled      = "settled" // the call is over; forget it
	ReasonShutdown     = "shutdown"
	ReasonSuperseded   = "superseded" // another link has taken over
	ReasonExpired      = "expired"
	ReasonUnauthorized = "unauthorized"
	ReasonRate         = "rate"
	ReasonProtocol     = "protocol"
)

// Verdict is the host's answer to a result.
type Verdict string

// The verdicts. Accepted is given at most once per call.
const (
	VerdictAccepted  Verdict = "accepted"
	VerdictDuplicate Verdict = "duplicate" // it was accepted before
	VerdictTimeout   Verdict = "timeout"   // too late: the call had timed out
	VerdictCancelled Verdict = "cancelled" // too late: the call was cancelled, or failed for another reason
	VerdictInvalid   Verdict = "invalid"   // not a result; the call has failed
	VerdictTooLarge  Verdict = "too_large" // the call has failed
	VerdictUnknown   Verdict = "unknown"   // no such call, or not yours
)

// Message is every frame in either direction; unused fields are absent. Which
// ones a type uses is said at the Type constants.
type Message struct {
	Type       string            `json:"type"`
	Seq        uint64            `json:"seq,omitempty"` // of the host's messages on a lease
	ClientID   string            `json:"clientID,omitempty"`
	SessionID  string            `json:"sessionID,omitempty"`
	Gen        uint64            `json:"gen,omitempty"` // link that a message sent outside of it belongs to
	Request    *ExecutionRequest `json:"request,omitempty"`
	RequestID  string            `json:"requestID,omitempty"`
	RequestIDs []string          `json:"requestIDs,omitempty"`
	Result     *ToolResponse     `json:"result,omitempty"`
	Progress   *Progress         `json:"progress,omitempty"`
	Verdict    Verdict           `json:"verdict,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	RetryMs    int64             `json:"retryAfterMs,omitempty"` // of bye; 0: do not come back
	Error      string            `json:"error,omitempty"`
	Code       string            `json:"code,omitempty"`
	Ref        string            `json:"ref,omitempty"` // what an error is about
	Tools      []ToolDefinition  `json:"tools,omitempty"`
	ToolIDs    []string          `json:"toolIDs,omitzero"` // nil is absent, empty is kept: the two mean different things
	Names      map[string]string `json:"names,omitempty"`  // id to the client's own name
	Rejected   []ToolRejection   `json:"rejected,omitempty"`
	Mode       string            `json:"mode,omitempty"` // of register: "merge" (default) or "replace"
	Hello      *Hello            `json:"hello,omitempty"`
	Welcome    *Welcome          `json:"welcome,omitempty"`
	Live       []string          `json:"live,omitempty"`
	AskID      string            `json:"askID,omitempty"` // of ask, invoke, host-tools and their replies
	Ask        *Ask              `json:"ask,omitempty"`
	Decision   string            `json:"decision,omitempty"` // of ask-reply: "allow" or "deny"
	Tool       string            `json:"tool,omitempty"`     // of invoke
	Input      json.RawMessage   `json:"input,omitempty"`    // of invoke
}

// Modes of register.
const (
	ModeMerge   = "merge"
	ModeReplace = "replace"
)

// Decisions of ask-reply.
const (
	DecisionAllow = "allow"
	DecisionDeny  = "deny"
)

// ToolDefinition describes a tool of a client.
type ToolDefinition struct {
	ID           string          `json:"id"` // the client's own name on the way in, the host's id on the way out
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"` // JSON Schema; none and {} are an object with any keys
	Title        string          `json:"title,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // of ToolResponse.Structured
	Hints        *tool.Hints     `json:"hints,omitempty"`        // claims; a host believes those only that make it more careful
	Parallel     bool            `json:"parallel,omitempty"`     // may run beside other calls of a turn
	Idempotent   bool            `json:"idempotent,omitempty"`   // may be run again by a restarted client
	TimeoutMs    int64           `json:"timeoutMs,omitempty"`    // a wish, capped by the host; 0: the host's default
	MaxInFlight  int             `json:"maxInFlight,omitempty"`  // calls at once, e.g. 1 for a tool that owns the screen; 0: no limit of its own

	// Version is the author's. A client may have several versions of one name, of which
	// the newest is offered; a call of an older one that waits stays with it. Versions
	// compare as semantic ones do, as far as they are numbers; none is the oldest.
	Version string `json:"version,omitempty"`
	// Revision is the host's mark of this very definition: it changes when anything
	// else in it does. What a client says here is not looked at.
	Revision string `json:"revision,omitempty"`
}

// ToolRejection says why a definition was not taken.
type ToolRejection struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Error string `json:"error"`
}

// ExecutionRequest asks a client to run a tool.
type ExecutionRequest struct {
	Type      string          `json:"type"` // [TypeToolRequest]
	RequestID string          `json:"requestID"`
	SessionID string          `json:"sessionID"`
	MessageID string          `json:"messageID"`
	CallID    string          `json:"callID"`
	Tool      string          `json:"tool"` // the host's id
	Input     json.RawMessage `json:"input"`
	Name      string          `json:"name,omitempty"`      // the client's own name of the tool
	TimeoutMs int64           `json:"timeoutMs,omitempty"` // from receipt; no clock is compared
	Version   string          `json:"version,omitempty"`   // of the definition, if it has one
	Attempt   int             `json:"attempt,omitempty"`   // 2: sent again after a restart
	Trace     string          `json:"trace,omitempty"`     // W3C traceparent
}

// ToolResponse is the outcome of a call as the client reports it.
type ToolResponse struct {
	Status      string           `json:"status"` // "success" or "error", nothing else
	Title       string           `json:"title,omitempty"`
	Output      string           `json:"output,omitempty"` // beside an error: the partial output
	Metadata    json.RawMessage  `json:"metadata,omitempty"`
	Attachments []FilePart       `json:"attachments,omitempty"`
	Structured  json.RawMessage  `json:"structured,omitempty"`
	EndTurn     bool             `json:"endTurn,omitempty"`
	Truncated   *tool.Truncation `json:"truncated,omitempty"` // the tool bounded Output itself
	Error       string           `json:"error,omitempty"`
	Code        string           `json:"code,omitempty"` // of an error: see the Code constants
}

// Status values of a ToolResponse.
const (
	StatusSuccess = "success"
	StatusError   = "error"
)

// ToolResult is the success half of a [ToolResponse].
type ToolResult struct {
	Title       string           `json:"title"`
	Output      string           `json:"output"`
	Metadata    json.RawMessage  `json:"metadata,omitempty"`
	Attachments []FilePart       `json:"attachments,omitempty"`
	Structured  json.RawMessage  `json:"structured,omitempty"`
	EndTurn     bool             `json:"endTurn,omitempty"`
	Truncated   *tool.Truncation `json:"truncated,omitempty"`
}

// FilePart is an attachment. Its URL is a data URL in base64.
type FilePart struct {
	ID        string `json:"id,omitempty"`
	SessionID string `json:"sessionID,omitempty"`
	MessageID string `json:"messageID,omitempty"`
	Type      string `json:"type,omitempty"` // "file"
	MIME      string `json:"mime"`
	Filename  string `json:"filename,omitempty"`
	URL       string `json:"url"`
}

// Progress is how far a call is. Empty fields leave what was there.
type Progress struct {
	N        uint64          `json:"n,omitempty"` // rises by the call; an older one is dropped
	Title    string          `json:"title,omitempty"`
	Output   string          `json:"output,omitempty"` // replaces the output so far
	Delta    string          `json:"delta,omitempty"`  // appends to it
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// merge lays next over p.
func (p *Progress) merge(next *Progress) {
	p.N = max(p.N, next.N)
	if next.Title != "" {
		p.Title = next.Title
	}
	if next.Output != "" {
		p.Output, p.Delta = next.Output, ""
	}
	if next.Delta != "" {
		if p.Output != "" {
			p.Output += next.Delta
		} else {
			p.Delta += next.Delta
		}
	}
	if len(next.Metadata) > 0 {
		p.Metadata = next.Metadata
	}
}

// size is what p takes of a budget, in bytes.
func (p *Progress) size() int { return len(p.Title) + len(p.Output) + len(p.Delta) + len(p.Metadata) }

// Ask is a tool's question of permission, answered on the host.
type Ask struct {
	Permission string         `json:"permission"`
	Title      string         `json:"title,omitempty"`
	Patterns   []string       `json:"patterns"`
	Always     []string       `json:"always,omitempty"`
	Protected  bool           `json:"protected,omitempty"`
	Opaque     bool           `json:"opaque,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
}

// Hello opens a link.
type Hello struct {
	Protocol      int              `json:"protocol"`
	ClientID      string           `json:"clientID"`
	SessionID     string           `json:"sessionID,omitempty"` // that the tools are bound to
	Instance      string           `json:"instance"`            // random, of this run of the program
	Resume        string           `json:"resume,omitempty"`    // token of the last welcome
	Tools         []ToolDefinition `json:"tools,omitzero"`      // all of them; nil: those that are registered already
	Live          []string         `json:"live,omitempty"`      // calls that are running or whose result was not acknowledged
	Capabilities  []string         `json:"capabilities,omitempty"`
	MaxConcurrent int              `json:"maxConcurrent,omitempty"` // calls that may be in flight; 0: the host's limit
}

// Welcome answers hello.
type Welcome struct {
	Protocol int           `json:"protocol"`
	Lease    string        `json:"lease"`
	Resume   string        `json:"resume"` // for the next hello; new each time
	Gen      uint64        `json:"gen"`
	Limits   WelcomeLimits `json:"limits"`
	GraceMs  int64         `json:"graceMs"`
	PingMs   int64         `json:"pingMs"`
}

// WelcomeLimits is what a client must know of the host's limits.
type WelcomeLimits struct {
	MaxMessageBytes int `json:"maxMessageBytes"`
	MaxResultBytes  int `json:"maxResultBytes"`
	MaxConcurrent   int `json:"maxConcurrent"`
}
