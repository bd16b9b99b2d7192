// Package notebook reads Jupyter notebooks and plans changes of their cells.
//
// A notebook is a JSON text. It is never marshalled anew: a change is a list of
// spans of the text, so that key order, indentation, escapes and the spelling of
// numbers stay as they are everywhere else, and lines of a cell that stay keep
// their bytes too.
//
// The package works on strings alone and keeps no state; a Notebook is not
// changed after Parse and may be used concurrently.
package notebook
