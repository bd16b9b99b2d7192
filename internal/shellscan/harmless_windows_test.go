package shellscan

import "os/exec"

func harmless(*exec.Cmd) {}
