// Package wstransport carries client tools over WebSocket.
//
// [Handler] is the host's side, to be mounted so that /ws/{clientID} reaches it,
// usually beside package httptransport. A client that offers the sub-protocol
// [Protocol] begins with hello. One that offers none speaks the older protocol: its
// id is in the path, and it sends register, result and unregister as it likes.
//
// [Dial] is the client's side.
package wstransport

// Protocol is the WebSocket sub-protocol of clients that say hello.
const Protocol = "clienttool.v1"
