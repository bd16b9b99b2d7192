// Package shellscan says what a line of shell would do before it runs: every command with its arguments, every file it would
// read or write, every change of environment and directory, and every reason why that cannot be known. It starts nothing.
//
// [Analyze] never fails. What it cannot see through becomes an entry of [Script.Opaque], and [Script.Judge] then asks about
// the text as a whole. A text is judged part by part only inside a small set of constructs that the parser and bash are known
// to read alike; everything else is still taken apart as well as possible, so that deny rules find what they look for and the
// user sees what there is to see, but it is never allowed silently by a narrow rule.
//
// The analysis is about consent. It is no sandbox: a program that was allowed may do all that the user can.
package shellscan
