// Package builtin holds the coding tools: read, write, edit, glob, grep and bash.
//
// [New] makes a [Toolset] over one project directory. Its tools are ordinary
// [tool.Tool] values: add them to a registry, all or some.
//
// # How a tool works
//
// Every tool first plans: it resolves names, reads what it must, and works out
// what it would do and which permissions that takes. Planning changes nothing.
// Then it asks ([tool.Call.Ask]), and only then it acts. Between the two the plan
// is made again, under the locks of the files it touches: what was not asked for
// is asked for then, so that what happens is what was approved. No lock is held
// while somebody is asked. [Toolset.Plan] returns the plan of a call without
// carrying it out.
//
// # What is asked
//
// read, write and edit ask with the path relative to the root, with slashes;
// write and edit both ask "edit". glob and grep ask with their pattern. A path that leads outside the root, after all links are followed,
// asks "external_directory" first. Files of the .env family and other secrets,
// and files whose change could make other programs run something, are asked
// about with [tool.Request].Protected set.
//
// bash asks with one pattern for each command that its text would run, also within
// other commands, and with the whole text where that cannot be told; what is
// redirected to a file asks "edit". The request judges rules itself, so that they
// hold however a command is spelled, wrapped or quoted, and that no rule for its
// beginning lets the rest slip through. The questions are about consent: a program
// that was allowed may do anything the user can, unless [BashConfig].Sandbox
// confines it.
//
// # Commands
//
// bash returns when its command ends, with all that was printed up to then, even
// if something goes on in the background; what does becomes a job, which the
// tools job_output, job_input, job_kill and job_list are for. [Toolset.Close] ends
// them all.
//
// # State
//
// A Toolset remembers, per session and by content, which files were read, so that
// a file is not overwritten by somebody who does not know what is in it. Nothing
// is shared between toolsets, and nothing outlives [Toolset.Close].
package builtin
