// Package tool is the tool subsystem of a coding agent, without the agent: what a
// Go program needs so that a model can call tools in it. The host keeps its own
// loop, its own model client and its own user interface.
//
// A [Tool] has a name, a [Spec] that models see, and one method that runs a
// [Call]. [Define] makes one of a typed function: the JSON Schema is inferred
// from the argument struct, and every call's arguments are repaired where that is
// unambiguous, validated with all problems named at once, and decoded; the result
// is bounded. A [Registry] holds tools and sources of tools, and resolves what one
// [Agent] is offered in one turn, a [Set]. An [Executor] runs the calls of the
// turn, in parallel where their tools allow it, and returns one [Outcome] for each.
// A running tool reports progress with [Call.Update], asks for permission with
// [Call.Ask], and calls other tools with [Call.Invoke].
//
// # Errors
//
// An error that a tool returns is text for the model; the host finds it intact in
// [Outcome].Err. Only [ErrAbort] ends a turn. Every error type has one sentinel
// that it matches through [errors.Is].
//
// # Trust
//
// Arguments come from a model and are untrusted. Descriptions, schemas and
// results of tools that others supply ([Source]) are untrusted too: schemas pass a
// guard before they are used, [Hints] never grant anything. Asking is fail-closed: without
// an [Approver] every request is denied at once, and an approver that fails denies.
// Permission is consent, not a sandbox: what an allowed program does is up to that program.
//
// # Concurrency
//
// Everything is safe for concurrent use unless its documentation says otherwise.
// Nothing in this package is global: two executors or registries in one process
// never see each other. No goroutine outlives the turn that started it, but those of
// tools that ignored their context and were abandoned.
//
// # Not here
//
// There is no agent loop, no server, no user interface, and no sandbox.
package tool
