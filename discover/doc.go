// Package discover finds tools in directories: executables with a manifest beside
// them. A [Source] over the configuration directories of user and project makes
// them tools like any other.
//
// # Manifests
//
// In each directory of [Source.Dirs], every file tool/*.json and tools/*.json
// describes one tool:
//
//	{
//		"name": "count_lines",
//		"description": "Count the lines of a file.",
//		"input": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
//		"command": ["./count.sh"],
//		"timeout": 30000
//	}
//
// The name is that of the file if there is none. input is a JSON Schema, and may be
// left out for a tool without arguments. The first word of command is a program: with a
// slash in it a file below the configuration directory, its name relative to the
// manifest, else one from PATH. Further words that begin with "./" are such files, too.
// timeout is in milliseconds. "output" is "text", which is the default, or "result".
// "parallel" and "hints" ("readOnly", "destructive", "idempotent", "openWorld") are as
// in [tool.Spec]. Other members are an error.
//
// # Calls
//
// The program runs in [Source.Root] without a shell. It reads the arguments as JSON,
// repaired and valid, from its standard input. What it writes to its standard output
// is the result, as text or, with "output": "result", as a JSON object with any of
// title, output, metadata, error, and attachments of mime, filename and data in
// base64. If it fails, the model reads the end of its standard error as well. The
// variables TOOL_NAME, TOOL_DIR (of the manifest), TOOL_SESSION_ID, TOOL_MESSAGE_ID,
// TOOL_CALL_ID and TOOL_AGENT tell it where it is. What it leaves running is ended.
//
// # Trust
//
// Nothing is run to find a tool. Each call asks the permission of the tool's name,
// with a pattern that stands for the content of manifest and program: an approval
// for good ends when one of them changes. A manifest is a claim of who wrote it, and may come
// with a project; it cannot take the name of another tool of the registry.
package discover
