// Package match finds the place that an edit means and plans the bytes to write.
//
// The texts come from a language model, which remembers a file almost but not
// always exactly. Finding is done by levels (see [Level]): each level forgives
// one more kind of difference, all of them differences that leave the words of
// the text alone, and the first level with a match decides. The one exception is
// [Slips], where a long block may differ in a few similar lines; there the
// similarity only helps to find the block, and what the text has is kept
// wherever the edit does not explicitly replace it.
//
// Writing treats an edit as a difference, not as a block: a line that the old
// and the new text share is not part of the edit and keeps the file's own bytes,
// so that misremembered indentation, quotes or blanks are never written back.
//
// The package works on strings alone. It reads no files, starts no goroutines
// and keeps no state; everything may be used concurrently.
package match
