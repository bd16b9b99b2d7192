package builtin

import (
	"path/filepath"
	"strings"
)

// arity says how many leading words name the action of a command; 1 if it is not listed.
var arity = map[string]int{
	"git": 2, "git stash": 3, "git remote": 3, "git config": 3, "git worktree": 3, "git submodule": 3,
	"npm": 2, "npm run": 3, "pnpm": 2, "pnpm run": 3, "yarn": 2, "yarn run": 3, "bun": 2, "bun run": 3, "bun x": 3,
	"docker": 2, "docker compose": 3, "docker container": 3, "docker image": 3, "docker network": 3, "docker volume": 3,
	"kubectl": 2, "kubectl rollout": 3, "aws": 3, "gcloud": 3, "az": 3, "gh": 3,
	"go": 2, "go mod": 3, "go tool": 3, "go work": 3, "cargo": 2, "make": 2, "just": 2, "terraform": 2, "systemctl": 2,
	"apt": 2, "apt-get": 2, "brew": 2, "pip": 2, "pip3": 2, "uv": 2, "poetry": 2, "dotnet": 2, "mvn": 2, "gradle": 2,
}

// ungranted are commands for which at most the exact text is granted: those that
// run other commands or code, and those that destroy.
var ungranted = wordSet(`
	sh bash zsh dash ksh fish eval source . exec command builtin env sudo doas su xargs parallel nohup timeout nice ionice
	stdbuf setsid time watch ssh trap alias export declare find python python3 node deno perl ruby php lua osascript npx
	pnpx bunx uvx awk gawk sed ed vi vim emacs tar rsync scp
	rm rmdir unlink shred dd mkfs mv cp ln chmod chown chgrp kill pkill killall truncate tee curl wget install
	shutdown reboot mount umount crontab at systemctl git-clean`)

// ungrantedActions are the same for the actions of commands that are otherwise granted.
var ungrantedActions = wordSet(`
	git_push git_reset git_clean git_rebase git_checkout git_restore git_rm git_filter-branch git_config git_stash
	go_run go_generate go_tool npm_exec npm_publish pnpm_exec pnpm_dlx yarn_dlx cargo_publish docker_run docker_exec
	docker_rm docker_system kubectl_delete kubectl_exec terraform_destroy terraform_apply gh_api`)

func wordSet(s string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// grantFor returns what may be granted for good for a command: a pattern by its
// action, its exact text, or "" for nothing. It always matches joined itself.
func grantFor(words []string, joined string) string {
	if strings.ContainsAny(joined, "*?") {
		return "" // as a pattern it would match more than itself
	}
	name := words[0]
	if strings.Contains(name, "/") || ungranted[filepath.Base(name)] {
		return joined
	}
	n := 1
	for i := 1; i <= min(3, len(words)); i++ {
		if a, ok := arity[strings.Join(words[:i], " ")]; ok {
			n = a
		}
	}
	if len(words) < n || len(words) >= 2 && ungrantedActions[words[0]+"_"+words[1]] {
		return joined
	}
	for _, w := range words[1:n] {
		if strings.HasPrefix(w, "-") {
			return joined // an option before the action: what follows is not known
		}
	}
	prefix := strings.Join(words[:n], " ")
	if !strings.HasPrefix(joined, prefix) {
		return joined
	}
	return prefix + " *"
}
