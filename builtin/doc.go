// Package builtin holds the coding tools: read, ls, write, edit, multiedit and
// apply_patch for files, glob and grep to search, bash and its jobs to run commands.
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
// read asks "read" and ls asks "list", with the path relative to the root, with
// slashes. write, edit, multiedit and apply_patch ask "edit" once, with every file
// of the call, where it moves to included, and with the diff that will be written
// in Metadata. glob and grep ask with their pattern. If whoever decides goes by rules and shows
// them to the request ([tool.Request].Judge), they leave out what read would be denied, and
// grep searches secrets that a rule for read allows by name and no others; both say
// how many files that was. A path that leads outside the root, after all links are
// followed, asks "external_directory" first. Files of the .env family and other
// secrets, and files whose change could make other programs run something, are
// asked about with [tool.Request].Protected set.
//
// bash asks with one pattern for each command that its text would run, also within
// other commands, and with the whole text where that cannot be told; what is
// redirected to a file asks "edit". The request judges rules itself, so that they
// hold however a command is spelled, wrapped or quoted, and that no rule for its
// beginning lets the rest slip through. The questions are about consent: a program
// that was allowed may do anything the user can, unless [BashConfig].Sandbox
// confines it.
//
// webfetch asks with the URL as it is requested, and again for every redirect to
// another host and for names that lead into a private network. It judges rules
// itself: one that allows holds for the host that it names ("example.com",
// "*.example.com", "https://example.com/docs/*") and for no other that looks like it.
// This machine, private networks and other odd targets need a rule or an approval
// that names them, unless [WebConfig].Local does; metadata services and their like
// are refused. websearch and codesearch ask with the query; they are offered where the
// host names a [SearchProvider].
//
// # Commands
//
// bash returns when its command ends, with all that was printed up to then, even
// if something goes on in the background; what does becomes a job, which the
// tools job_output, job_input, job_kill and job_list are for. [Toolset.Close] ends
// them all.
//
// # Changes
//
// A change is all or nothing, over all files of a call. Bytes that it is not about
// stay as they are: encoding, byte order mark and the end of every line are those
// of the file, and permissions, owner, links and extended attributes are kept. edit
// finds text that differs in blanks, quotes and the like from what the file has,
// if it fits one place only; it says so, and writes only what differs. A file that
// changed since the session read it is changed where the text still fits, and the
// result shows what others did; write refuses. Lines that the session was never
// shown are changed by exact text only.
//
// apply_patch is offered to agents whose model was made to write such patches, and
// where nothing is known of the model; see [tool.Agent].Model. [StandardConditions]
// has a filter that offers such agents nothing else to edit with, and knows further
// conditions that depend on the client, the provider or a flag.
//
// # Subagents
//
// task starts a subagent through the host's [SubagentRunner]. It works in a
// session of its own with at most the tools and rights of its caller, its calls are
// those of the caller's executor ([tool.Call.Start]), and what it says and did comes
// back also when it does not get to the end. See [TaskConfig] for the limits.
//
// # Language servers
//
// lsp answers questions about code, and renames, through the servers of
// [Config].LanguageServers or the host's own [LSP]. It asks "lsp", and "edit" with
// the diff of all files for what it changes. A server is a program that runs: it
// is started only if the host listed it, when a file that it is for is first read,
// changed or asked about, and it may run code of the project, as build scripts.
// After every change the result names the errors that are new; a server that does
// not answer in time is named instead, and the change stays. Secrets and what lies
// outside of the root are not given to servers, and where they point there the
// result says so without opening it. [Toolset.Close] ends them.
//
// # Skills
//
// skill loads instructions from files SKILL.md in the directories of [SkillConfig].
// Their names and descriptions stand in the description of the tool, within 8 KiB;
// they are looked for again each turn. Loading runs nothing. The files of a skill
// that a session was given may be read without another question.
//
// # State
//
// A Toolset remembers, per session and by content, which files were read and which
// of their lines, and, within limits, what files were changed from, so that a change
// can be taken back; beside that the todo list, the subagents that can be gone on
// with, the skills that were loaded, and the jobs. [Toolset.Snapshot] and
// [Toolset.Restore] carry all but the second over to another process. Nothing is shared between toolsets, and nothing outlives
// [Toolset.Close]; but a system call that does not return, as on a network drive
// whose server is gone, is left behind when its call ends ([ErrStuck]), and so is a
// function of the host's that overstays [Limits].HookTime.
package builtin
