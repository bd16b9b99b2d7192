// Package textfile is the layer under the file tools: it turns the bytes of a file into text and back without changing what
// an edit did not mean, remembers what each session has seen of a file, keeps concurrent calls apart, and writes changes so
// that either all of them or none are on disk.
//
// The pieces, each usable alone:
//
//   - [Decode] makes a [File] from bytes: text with LF line ends, plus what is needed to put the rest back. [File.Apply] replaces
//     stretches of the text and keeps every other byte.
//   - [Reader] shows parts of files of any size.
//   - [Tracker] records, for each session, which content and which lines were shown, and tells what changed since.
//   - [Locks] is a set of locks named by path.
//   - [Writer] commits changes to one or several files.
//   - [Settings] are what .editorconfig and .gitattributes say about a file.
//
// Paths come from package fsroot, which alone opens files.
package textfile
