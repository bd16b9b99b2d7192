package search

// globSeparator separates directories beside the slash.
const globSeparator byte = '\\'
