package wildcard

// FoldsCase says whether names that differ only in case are one file or program.
const FoldsCase = true
