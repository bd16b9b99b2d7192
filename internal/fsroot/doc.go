// Package fsroot resolves path names the way the kernel does, says whether they stay inside the directories that a host
// granted, and is the only place from which the file tools reach the file system.
//
// A [Root] holds one main directory and any number of further grants. [Root.Resolve] turns a name into a [Path]: where it
// really leads, whether that is inside, and whether it names a secret or a protected file. Nothing is opened meanwhile.
// Every open, create, rename and removal then goes through an [os.Root] on the granted directory, and what was opened is
// compared with what was resolved, so that a link planted between the check and the use makes the call fail rather than
// reach another file.
//
// The checks are about consent and about accidents. They are no sandbox: hard links, bind mounts and other processes of
// the same user are outside of what user space can tell apart.
package fsroot
