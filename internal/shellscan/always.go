package shellscan

import (
	"path"
	"slices"
	"strings"
)

// arity tells how many words of a command say what it does. A name that is not listed says it alone.
var arity = map[string]int{
	"git": 2, "git stash": 3, "git remote": 3, "git config": 3, "git worktree": 3, "git submodule": 3, "git bisect": 3, "git notes": 3, "git lfs": 3, "git flow": 3,
	"npm": 2, "npm run": 3, "npm run-script": 3, "npm exec": 3, "pnpm": 2, "pnpm run": 3, "pnpm exec": 3, "pnpm dlx": 3, "yarn": 2, "yarn run": 3, "yarn dlx": 3,
	"yarn workspace": 4, "bun": 2, "bun run": 3, "bun x": 3, "bun pm": 3, "npx": 2, "bunx": 2, "uvx": 2, "pipx run": 3, "pipx": 2, "deno": 2, "deno task": 3, "deno run": 3,
	"docker": 2, "docker compose": 3, "docker container": 3, "docker image": 3, "docker network": 3, "docker volume": 3, "docker buildx": 3, "docker system": 3,
	"docker builder": 3, "docker context": 3, "podman": 2, "podman container": 3, "podman image": 3, "docker-compose": 2, "podman-compose": 2,
	"kubectl": 2, "kubectl rollout": 3, "kubectl config": 3, "kubectl set": 3, "kubectl create": 3, "kubectl auth": 3, "helm": 2, "helm repo": 3, "oc": 2, "kustomize": 2, "kind": 2, "minikube": 2,
	"aws": 3, "gcloud": 3, "gcloud compute": 4, "az": 3, "gh": 3, "glab": 3, "doctl": 3, "heroku": 2, "vercel": 2, "netlify": 2, "fly": 2, "flyctl": 2, "wrangler": 2, "firebase": 2, "supabase": 2,
	"go": 2, "go mod": 3, "go tool": 3, "go work": 3, "go run": 3, "cargo": 2, "cargo run": 2, "rustup": 2, "rustup toolchain": 3,
	"make": 2, "gmake": 2, "just": 2, "task": 2, "rake": 2, "mage": 2, "nx": 2, "turbo": 2, "turbo run": 3, "lerna": 2, "lerna run": 3, "gradle": 2, "gradlew": 2, "./gradlew": 2, "mvn": 2, "./mvnw": 2,
	"ant": 2, "sbt": 2, "lein": 2, "bazel": 2, "bazelisk": 2, "buck": 2, "cmake": 1, "ninja": 1, "meson": 2, "xcodebuild": 1, "swift": 2, "swift package": 3, "pod": 2, "fastlane": 2, "flutter": 2, "flutter pub": 3, "dart": 2, "dart pub": 3,
	"dotnet": 2, "dotnet tool": 3, "nuget": 2, "terraform": 2, "terraform workspace": 3, "terraform state": 3, "tofu": 2, "pulumi": 2, "pulumi stack": 3, "ansible": 1, "vagrant": 2, "packer": 2, "consul": 2, "nomad": 2, "vault": 2,
	"systemctl": 2, "service": 3, "launchctl": 2, "journalctl": 1, "brew": 2, "apt": 2, "apt-get": 2, "apt-cache": 2, "dnf": 2, "yum": 2, "pacman": 2, "apk": 2, "snap": 2, "port": 2, "nix": 2, "nix flake": 3,
	"pip": 2, "pip3": 2, "poetry": 2, "poetry env": 3, "uv": 2, "uv pip": 3, "uv tool": 3, "pipenv": 2, "conda": 2, "conda env": 3, "mamba": 2, "hatch": 2, "hatch env": 3, "rye": 2, "pdm": 2, "tox": 1, "nox": 1, "pyenv": 2,
	"gem": 2, "bundle": 2, "rails": 2, "rbenv": 2, "composer": 2, "artisan": 2, "mix": 2, "rebar3": 2, "stack": 2, "cabal": 2, "opam": 2, "dune": 2, "zig": 2, "nimble": 2, "mise": 2, "asdf": 2, "direnv": 2, "volta": 2, "nvm": 2,
	"openssl": 2, "tmux": 2, "svn": 2, "hg": 2, "jj": 2, "bzr": 2, "fossil": 2, "ip": 2, "sqlite3": 1, "redis-cli": 1, "prisma": 2, "drizzle-kit": 2, "sequelize": 2, "alembic": 2, "expo": 2, "eas": 2, "ng": 2, "vue": 2, "hugo": 1, "buf": 2, "protoc": 1,
	"golangci-lint": 2, "goreleaser": 2, "ruff": 2, "biome": 2, "nu": 1, "perf": 2, "screen": 1,
}

// destructive programs are remembered with at most the exact text.
var destructive = map[string]bool{
	"rm": true, "rmdir": true, "unlink": true, "shred": true, "dd": true, "mv": true, "chmod": true, "chown": true, "chgrp": true, "kill": true, "pkill": true, "killall": true,
	"truncate": true, "wipefs": true, "fdisk": true, "parted": true, "sfdisk": true, "mount": true, "umount": true, "shutdown": true, "reboot": true, "halt": true, "poweroff": true,
	"dropdb": true, "userdel": true, "groupdel": true, "crontab": true, "iptables": true, "set": true, "unset": true, "read": true, "mkswap": true, "cp": false, "export": true, "declare": true, "readonly": true, "local": true,
	"curl": true, "wget": true, "ln": true, "install": true, "tee": true, "sponge": true, "rename": true, "srm": true, "trash": true, "history": true, "umask": true, "ulimit": true, "mapfile": true, "getopts": true,
}

// neverAlways lists commands for which nothing is remembered at all.
var neverAlways = map[string]bool{
	"eval": true, ".": true, "source": true, "exec": true, "command": true, "builtin": true, "trap": true, "alias": true, "ssh": true, "su": true, "sudo": true, "doas": true, "xargs": true,
	"parallel": true, "find": false, "export": true, "fd": false,
}

// offer sets the pattern that may be remembered for a command, if there is one.
func (v *visitor) offer(idx int) {
	if idx < 0 || idx >= len(v.s.Commands) {
		return
	}
	c := &v.s.Commands[idx]
	if c.always != "" || len(c.Argv) == 0 || !c.Argv[0].known() || len(c.Env) > 0 || c.Free {
		return
	}
	base := path.Base(c.Argv[0].Text)
	p := v.tables.programs[base]
	// Where the pattern says what is run, the risk is spelled out.
	spelled := (base == "go" || base == "cargo") && len(c.Argv) > 1 && c.Argv[1].Text == "run" || p.flag("script") && len(c.Argv) > 2 && c.Argv[1].Text == "-m"
	risks := slices.DeleteFunc(slices.Clone(c.Risks), func(r Reason) bool { return spelled && r.word == 1 })
	for _, r := range risks {
		if r.Kind != KindDestructive && r.Kind != KindWrite {
			return
		}
	}
	if neverAlways[base] || strings.ContainsAny(c.Argv[0].Text, "*?") {
		return
	}
	exact := func() {
		if text := c.exact(); text != "" {
			c.always = text
		}
	}
	if destructive[base] || p.flag("destructive") || strings.HasPrefix(base, "mkfs") || len(risks) > 0 {
		exact()
		return
	}
	words := c.Argv
	n := 1
	name := c.Argv[0].Text
	if a, ok := arity[name]; ok {
		n = a
		prefix := name
		for k := 1; k < len(words) && k < 3; k++ {
			if !words[k].known() {
				break
			}
			prefix += " " + words[k].Text
			if a, ok := arity[prefix]; ok {
				n = a
			}
		}
	}
	if p.flag("script") || p.flag("shell") { // interpreters: the program they run is part of it
		n = 2
		if len(words) > 2 && words[1].Text == "-m" {
			n = 3
		} else if len(words) > 1 && strings.HasPrefix(words[1].Text, "-") {
			exact()
			return
		}
	}
	if len(words) == 1 && n > 1 {
		c.always = name
		return
	}
	n = min(n, len(words))
	var out []string
	for k := range n {
		w := words[k]
		if !w.known() {
			return
		}
		if k > 0 && strings.HasPrefix(w.Text, "-") && !(n == 3 && words[1].Text == "-m") {
			exact()
			return
		}
		if strings.ContainsAny(w.Text, "*? \t\n") || w.Text == "" || quoteText(w.Text, false) != w.Text {
			exact()
			return
		}
		out = append(out, w.Text)
	}
	c.always = strings.Join(out, " ") + " *"
}

// exact returns the text of the command as a pattern that matches nothing else, or "" if there is none.
func (c *Command) exact() string {
	for _, w := range c.Argv {
		if !w.known() || strings.ContainsAny(w.Text, "*?") {
			return ""
		}
	}
	s := c.String()
	if len(s) > 1000 || strings.HasSuffix(s, " ") || slices.ContainsFunc([]rune(s), func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return s
}
