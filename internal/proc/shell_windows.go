package proc

import (
	"os"
	"path/filepath"
	"strings"
)

// shellNames returns where to look for a shell, the best first: the bash of Git,
// never the one in System32, which belongs to another system with other paths.
func shellNames() []string {
	var paths []string
	for _, base := range []string{"ProgramFiles", "ProgramW6432", "LocalAppData"} {
		if dir := os.Getenv(base); dir != "" {
			paths = append(paths, filepath.Join(dir, "Git", "bin", "bash.exe"), filepath.Join(dir, "Programs", "Git", "bin", "bash.exe"))
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && !strings.Contains(strings.ToLower(dir), `\windows\`) {
			paths = append(paths, filepath.Join(dir, "bash.exe"))
		}
	}
	paths = firstThere(paths...)
	return append(paths, "pwsh.exe", "powershell.exe", "cmd.exe")
}
