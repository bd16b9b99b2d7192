// Package lsp is a client for language servers, over the base protocol of the
// Language Server Protocol 3.17.
//
// A [Client] stands for one workspace. It starts a server when a file that the
// server is for is opened or asked about, one for every directory that has one of
// the server's root markers, and it starts only what it was configured with: it
// looks for nothing and downloads nothing. What a server says is foreign input:
// every message is bounded, and a server that breaks the protocol is ended. A
// server that crashes is started again a few times, and then no more.
//
// Positions of a Client count lines and characters (runes) from 1. How the
// server counts is settled when it starts, and converted.
//
// Every goroutine belongs to a server or a timer of the Client, and Close ends
// them all and waits for them.
package lsp
