// Package truncate bounds text that a model will read.
//
// A [Policy] says how much may be shown and which part: the head, the tail, or
// both ends. [Policy.Apply] cuts a text to it and leaves a short notice of what
// is missing, where the whole text is and how to go on. A text that fits comes
// back as it is, without a copy, and cutting a large text never looks at more of
// it than is shown, except to count its lines.
//
// What was cut can be kept: a [Store] holds whole texts in a private directory
// with a quota and an age limit. A [Collector] is the writer for output whose
// size is not known beforehand, such as that of a process: it keeps both ends
// in fixed memory and the whole in a Store.
//
// Lines are the pieces between newlines; a newline at the end adds no line.
package truncate
