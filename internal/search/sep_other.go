//go:build !windows

package search

// globSeparator separates directories beside the slash; 0 means none.
const globSeparator byte = 0
