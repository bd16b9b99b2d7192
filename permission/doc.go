// Package permission decides whether a tool may do what it asks for with
// [tool.Call.Ask]: by rules, by what a person granted before, or by asking one.
//
// # Rules
//
// A [Rule] says allow, ask or deny for a kind of action (its permission) and what
// it is about (its pattern). The last rule that matches wins, and what no rule
// matches is asked; see [Evaluate]. [ParseConfig] reads rules from JSON, in the
// order of its keys. [Explain] judges requests without asking or running
// anything, and [Filter] and [Disabled] hide tools that could only be denied.
// Requests that know better than their patterns, such as a line of shell, bring a
// Judge along, which reads the same rules; see [tool.Request].
//
// # The gate
//
// A [Gate] is the [tool.Approver] built on them. It decides in this order, and
// the first answer that is not "ask" is final, except that allow can still become
// stricter at the next step:
//
//  1. the configured rules; a deny ends the matter, and nothing below can lift it
//  2. rules that may only tighten, such as those a project brings along
//  3. the host's interceptor
//  4. plan mode, if the session is in it
//  5. what was granted before, which only ever turns ask into allow
//  6. a person, through [Gate.Prompt] or [Gate.Subscribe] and [Gate.Reply]
//
// Whatever goes wrong on the way denies: no one to ask, a callback that fails or
// panics, an answer that makes no sense. The one thing that never happens is
// waiting for a person who is not there.
//
// # What is shown
//
// A [Prompt] has everything twice: raw, which is what would happen, and display,
// in which [Visible] made each character that could deceive a reader readable.
// User interfaces show the display form. "Always" grants exactly the patterns
// that the prompt listed under Always.
//
// # What this is not
//
// Permission is consent, not a sandbox: a program that was allowed may do
// anything the user can. And a request is as good as the tool that makes it: that
// its patterns say everything it will do is the tool's part.
package permission
