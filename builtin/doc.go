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
// write and edit both ask "edit". glob and grep ask with their pattern. bash asks
// with one pattern per simple command where the text is simple enough to be
// taken apart. A path that leads outside the root, after all links are followed,
// asks "external_directory" first. Files of the .env family and other secrets,
// and files whose change could make other programs run something, are asked
// about with [tool.Request].Protected set.
//
// # State
//
// A Toolset remembers, per session and by content, which files were read, so that
// a file is not overwritten by somebody who does not know what is in it. Nothing
// is shared between toolsets, and nothing outlives [Toolset.Close].
package builtin
