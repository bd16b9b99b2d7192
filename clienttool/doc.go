// Package clienttool lets other processes lend their tools to an agent. A client
// (a program on a user's laptop, a sandbox, a browser page) registers tools with
// a host; the host's agent calls them as if they were local.
//
// The host has a [Hub], which is a [tool.Source]: add it to a [tool.Registry] and
// the tools of connected clients are offered to the agents whose session they are
// bound to. The client has a [Client], to which tools are added, any [tool.Tool]
// among them. Between the two is a [Conn]: [Pipe] inside one process, packages
// httptransport and wstransport over networks, or one of your own, tested with
// package clienttooltest.
//
// # Words
//
// A peer is who the transport authenticated. A lease is one client's registration
// on the host: identity, tools, live calls. It outlives its links by a grace
// period. A link is one [Conn], numbered by a generation. An instance is one run
// of a client program.
//
// # Promises
//
//  1. Execute returns exactly once, within its time limit plus scheduling delay,
//     whatever the transport does.
//  2. A handler starts at most once per call for as long as the client process
//     lives. Across a client restart the host never resends a call it has written,
//     unless the tool was registered idempotent.
//  3. A result is accepted at most once, only from the lease that owns the call;
//     resubmitting it is safe and answered the same way for TombstoneTTL.
//  4. Progress for a call is delivered in order and never after its result.
//  5. Nothing is dropped silently: what does not fit is refused with an error, or
//     the link is closed.
//  6. A stalled or lying transport can delay one client, never another, and never
//     Execute's return.
//
// In 2 and 3, a client and a host remember a bounded number of ended calls, see
// [Limits].Tombstones. In 4, progress that comes faster than it is read is merged,
// and what was not delivered when the result arrives is superseded by it; a callback
// that has begun may still be running then.
//
// Not promised: order between calls; delivery to a client that never comes back;
// durability across a crash of the host, unless Options.Store keeps the calls.
//
// # Trust
//
// What a client sends is text from a stranger. Schemas pass [schema.Check], names
// are rewritten to what providers accept, sizes and rates are limited, attachments
// must be data URLs. A description can still lie: who may register tools for whose
// session is for Options.Authorize to say, and every call asks for the permission
// "client_tool" with the tool's id as the pattern.
package clienttool
