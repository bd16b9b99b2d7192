package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func environ() []string { return os.Environ() }

func absolute(p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", fmt.Errorf("builtin: shell: %w", err)
	}
	return abs, nil
}

func baseName(p string) string { return filepath.Base(p) }

// loaders are variables that make a shell or another program run code, or read
// words differently than they were analysed.
var loaders = map[string]bool{
	"BASH_ENV": true, "ENV": true, "SHELLOPTS": true, "BASHOPTS": true, "PS0": true, "PS4": true, "PROMPT_COMMAND": true,
	"CDPATH": true, "GLOBIGNORE": true, "IFS": true, "LD_PRELOAD": true, "LD_AUDIT": true, "DYLD_INSERT_LIBRARIES": true,
	"PERL5OPT": true, "RUBYOPT": true, "PYTHONSTARTUP": true,
}

// quiet keeps programs from asking, paging and colouring: nobody is there to answer.
var quiet = []string{
	"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=", "LESS=-FRX",
	"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1", "GIT_EDITOR=false", "SSH_ASKPASS_REQUIRE=never",
	"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1",
}

// commandEnv is the environment of commands: the host's without what loads code,
// then what keeps programs quiet, then what the host wants. The user's own
// settings, such as HOME, PATH and the identity for git, stay.
func commandEnv(host, extra []string) ([]string, error) {
	var order []string
	values := make(map[string]string)
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = value
	}
	for _, kv := range host {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || loaders[name] || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(value, "() {") {
			continue
		}
		set(name, value)
	}
	for _, kv := range quiet {
		name, value, _ := strings.Cut(kv, "=")
		set(name, value)
	}
	if _, ok := values["GIT_SSH_COMMAND"]; !ok {
		set("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
	}
	for _, kv := range extra {
		name, value, ok := strings.Cut(kv, "=")
		if name == "" || strings.ContainsRune(kv, 0) {
			return nil, fmt.Errorf("builtin: Config.Env: %q is not NAME=value", kv)
		}
		if !ok {
			delete(values, name)
			continue
		}
		set(name, value)
	}
	env := make([]string, 0, len(order))
	for _, name := range order {
		if value, ok := values[name]; ok {
			env = append(env, name+"="+value)
			delete(values, name)
		}
	}
	return env, nil
}
