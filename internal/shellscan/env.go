package shellscan

import (
	"path"
	"strings"
)

type envClass int

const (
	envOther envClass = iota
	envBenign
	envSensitive
)

// Variables that change what is printed, or what a build is for, and nothing else.
const benignEnv = `CI NO_COLOR FORCE_COLOR CLICOLOR* TERM COLUMNS LINES LANG LANGUAGE LC_* TZ NODE_ENV DEBUG VERBOSE GOOS GOARCH GOARM GOAMD64 CGO_ENABLED
RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE DEBIAN_FRONTEND GIT_TERMINAL_PROMPT HUSKY NPM_CONFIG_COLOR GOMAXPROCS GOGC GOMEMLIMIT
GOTRACEBACK RACK_ENV RAILS_ENV APP_ENV LOG_LEVEL PORT HOST NO_UPDATE_NOTIFIER TF_IN_AUTOMATION`

// Variables that make programs load code, write elsewhere, or connect elsewhere.
const sensitiveEnv = `PATH IFS BASH_* ENV SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE HOME PWD OLDPWD TMPDIR TEMP TMP SHELL
EDITOR VISUAL *_EDITOR PAGER *PAGER LESS* BROWSER LD_* DYLD_* GIT_* SSH_* PYTHON* PERL* RUBY* GEM_* BUNDLE_* NODE_* NPM_* npm_* YARN_* PNPM_* JAVA_* _JAVA_*
JDK_* MAVEN_* GRADLE_* ANT_* CLASSPATH GOFLAGS GOROOT GOPATH GOBIN GOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOPRIVATE GOINSECURE GOTOOLCHAIN GOENV GOWORK GOCACHE
GOMODCACHE GOTMPDIR GO111MODULE GOCACHEPROG CGO_* CC CXX CPP LD AR AS NM CFLAGS CXXFLAGS LDFLAGS CPPFLAGS MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKE CARGO* RUST* PIP_* UV_* POETRY_* VIRTUAL_ENV
CONDA_* TAR_* RSYNC_* GREP_* RIPGREP_* RG_* FD_* FZF_* AWKPATH AWKLIBPATH GCONV_PATH LOCPATH NLSPATH HOSTALIASES RES_OPTIONS *_PROXY *_proxy SSL_* CURL_* REQUESTS_* WGETRC
DOCKER_* CONTAINER_* BUILDKIT_* COMPOSE_* KUBE* HELM_* AWS_* AZURE_* GOOGLE_* CLOUDSDK_* GH_* GITHUB_* GITLAB_* VAULT_* TF_* XDG_* ZDOTDIR INPUTRC HIST* MAIL* FPATH TERMINFO* TERMCAP
GTK_* QT_* GIO_* DBUS_* DISPLAY WAYLAND_* PHP* LUA_* R_* JULIA_* DENO_* BUN_* ELECTRON_* PYTEST_* JEST_* ESLINT_* COVERAGE_* OPENSSL_* GNUPGHOME GPG_* SUDO_* MANOPT MANPATH
LIBRARY_PATH CPATH C_INCLUDE_PATH PKG_CONFIG* CMAKE_* GCC_* COMPILER_PATH CCACHE_* VIM* EXINIT LESSOPEN LESSCLOSE SYSTEMD_* JQ_* PSQL* PG* MYSQL_* SQLITE_* EMACS* OLDPWD TMOUT POSIXLY_CORRECT`

var (
	benignList    = strings.Fields(benignEnv)
	sensitiveList = strings.Fields(sensitiveEnv)
)

// envKind sorts a variable's name. Names in the benign list win over a star in the other.
func (v *visitor) envKind(name string) envClass {
	for _, list := range [][]string{v.s.opts.Benign, benignList} {
		if matchName(list, name) {
			return envBenign
		}
	}
	if matchName(sensitiveList, name) {
		return envSensitive
	}
	return envOther
}

func matchName(list []string, name string) bool {
	for _, p := range list {
		if p == name {
			return true
		}
		if strings.Contains(p, "*") {
			if ok, err := path.Match(p, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

func sensitive(e EnvChange) Reason {
	return Reason{Kind: KindEnv, Text: "sets " + e.Name + "=" + quote(e.Value), word: -1, name: e.Name}
}

// envRisks adds a reason for every variable in front of the command that is not known to be harmless.
func (v *visitor) envRisks(c *Command, st *state) {
	for _, e := range c.Env {
		switch v.envKind(e.Name) {
		case envSensitive:
			c.Risks = append(c.Risks, sensitive(e))
		case envOther:
			if builtinNames[c.name] || st.funcs[c.name] != nil {
				continue
			}
			r := sensitive(e)
			r.Kind = KindVariable
			c.Risks = append(c.Risks, r)
		}
	}
}

// builtinNames are commands that start no other program: variables in front of them are harmless unless bash itself uses
// them.
var builtinNames = map[string]bool{
	":": true, "true": true, "false": true, "test": true, "[": true, "pwd": true, "echo": true, "printf": true, "read": true, "cd": true, "exit": true,
}
