package clienttool

import (
	"context"
	"errors"
)

// Conn is one live link that carries whole messages in order.
//
// The caller guarantees: one goroutine at a time calls Send, one at a time calls
// Recv, any may call Close.
//
// The implementation guarantees:
//   - Send returns nil once the message is accepted for delivery; it may block, at
//     most until ctx is done. After any Send error the Conn is finished, except one
//     that matches [ErrTooLarge]; the caller closes it.
//   - Messages accepted by Send arrive in order or not at all; an undelivered
//     suffix is lost with the Conn.
//   - Recv returns [io.EOF] after the peer closed and everything it sent was returned.
//   - Close is idempotent, unblocks Send and Recv promptly, and never waits for
//     the peer longer than a second.
//   - A Message passed to Send is not modified or retained after Send returns; one
//     returned by Recv is the caller's.
//
// The context given to Send and Recv lives as long as the link, not as long as a
// call: with many carriers a context that ends takes the link with it.
//
// clienttooltest.TestConn tests an implementation.
type Conn interface {
	Send(ctx context.Context, m *Message) error
	Recv(ctx context.Context) (*Message, error)
	Close(reason error) error
}

// Sender is the outbound half of a Conn, for carriers whose inbound half comes
// another way, such as POST beside an event stream. See [Hub.Attach].
type Sender interface {
	Send(ctx context.Context, m *Message) error
	Close(reason error) error
}

// Transport is how a [Client] reaches a host. Dial is called again after every
// lost Conn. An error that matches [ErrFatal] ends the client's Run; every other
// one is tried again.
type Transport interface {
	Dial(ctx context.Context) (Conn, error)
}

// DialFunc is a function that is a [Transport].
type DialFunc func(ctx context.Context) (Conn, error)

// Dial calls f.
func (f DialFunc) Dial(ctx context.Context) (Conn, error) { return f(ctx) }

// Listener is how a host accepts Conns where no HTTP handler does it. Accept
// returns [ErrClosed] after Close.
type Listener interface {
	Accept(ctx context.Context) (Conn, Peer, error)
	Close() error
}

// Peer is what the transport proved about the other side. The zero Peer is anonymous.
type Peer struct {
	Principal  string            // the authenticated user or workload; never taken from a message
	ClientID   string            // the client id this peer may act as; "": the one it says itself
	RemoteAddr string            // for logs
	Attrs      map[string]string // claims, for Authorize

	// Legacy says that the link speaks the protocol without hello: the peer is
	// attached at once, as ClientID, and its first message may be anything.
	Legacy bool
}

var (
	// ErrClosed is returned by what was closed: a Conn, a Hub, a Listener.
	ErrClosed = errors.New("closed")

	// ErrFatal is matched by an error of [Transport].Dial or Conn.Recv that
	// trying again will not cure, such as refused credentials.
	ErrFatal = errors.New("refused for good")
)
