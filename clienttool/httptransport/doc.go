// Package httptransport carries client tools over plain HTTP: server-sent events to
// the client, POST back.
//
// [Handler] is the host's side, an http.Handler to be mounted, usually below
// /client-tools with [http.StripPrefix]:
//
//	POST   /register              tools of a client
//	DELETE /unregister            or POST
//	GET    /pending/{clientID}    event stream of requests, for EventSource
//	POST   /result                the outcome of a call
//	GET    /tools/{clientID}      the tools of one client
//	GET    /tools                 the tools that the peer may see
//	GET    /host-tools/{clientID} the tools of the host that the client's may invoke
//	POST   /execute               run a tool; off unless Options.EnableExecute
//	POST   /message               any message of a client; a hello is answered with the stream
//	POST   /ticket                a ticket for EventSource; only with Guard.Tickets
//
// Errors are {"error": text, "code": CODE}. [Dial] is the client's side, a
// [clienttool.Transport] that uses /message alone.
//
// A stream must not pass through middleware that buffers, compresses or limits
// time, such as [http.TimeoutHandler]. The server's WriteTimeout is lifted for it.
package httptransport
