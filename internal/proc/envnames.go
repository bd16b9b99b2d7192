package proc

// The lists below are read only.

// codeLoaders make a shell, the dynamic linker or an interpreter run code
// before, or beside, the command that was asked about.
var codeLoaders = []string{
	"BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS0", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "IFS", "ZDOTDIR",
	"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_FORCE_FLAT_NAMESPACE",
	"PERL5OPT", "PERL5DB", "RUBYOPT", "PYTHONSTARTUP", "PYTHONINSPECT",
}

// secretNames are names of variables that hold credentials.
var secretNames = []string{
	"*_API_KEY", "*_APIKEY", "API_KEY", "*_TOKEN", "TOKEN", "*_TOKEN_*", "*_SECRET", "*_SECRET_*", "SECRET", "SECRET_*", "*PASSWORD*", "*PASSWD*", "*_PASS", "PASS",
	"*CREDENTIAL*", "*PRIVATE_KEY*", "*_ACCESS_KEY", "*_ACCESS_KEY_ID", "*_AUTH", "*_AUTH_KEY", "*_ENCRYPTION_KEY", "*_SIGNING_KEY",
	"AWS_SECRET*", "AWS_SESSION*", "GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "*_DSN", "DATABASE_URL", "*_DATABASE_URL", "*_CONNECTION_STRING", "*_WEBHOOK_URL",
}

// keyPrefixes begin the keys of well-known services.
var keyPrefixes = []string{
	"sk-", "sk_live_", "sk_test_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-",
	"AKIA", "ASIA", "AIza", "ya29.", "npm_", "pypi-", "hf_", "dop_v1_", "SG.", "shpat_", "lin_api_", "r8_", "gsk_", "xai-",
}

// minimal is what EnvMinimal keeps.
var minimal = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR", "TMP", "TEMP", "CI",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GONOPROXY", "GOFLAGS", "GOTOOLCHAIN", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_HOME", "M2_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT",
	"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PIPX_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR", "POETRY_HOME",
	"NVM_DIR", "NODE_ENV", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "PNPM_HOME", "YARN_CACHE_FOLDER", "BUN_INSTALL", "DENO_DIR", "VOLTA_HOME", "FNM_DIR",
	"RBENV_ROOT", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "COMPOSER_HOME", "DOTNET_ROOT", "NUGET_PACKAGES", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "HOMEBREW_*", "NIX_PATH", "NIX_PROFILES",
	"GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", Marker,
	// Windows cannot do without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "ALLUSERSPROFILE", "PUBLIC", "OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "MSYSTEM",
}

// nonInteractive makes programs fail where they would ask, and print plain text.
var nonInteractive = []struct {
	kv        string
	onlyUnset bool
}{
	{kv: "TERM=dumb"},
	{kv: "NO_COLOR=1"},
	{kv: "PAGER=cat"},
	{kv: "GIT_PAGER=cat"},
	{kv: "GH_PAGER=cat"},
	{kv: "MANPAGER=cat"},
	{kv: "SYSTEMD_PAGER="},
	{kv: "LESS=-FRX"},
	{kv: "GIT_TERMINAL_PROMPT=0"},
	{kv: "GIT_EDITOR=false"},
	{kv: "GIT_SEQUENCE_EDITOR=false"},
	{kv: "GCM_INTERACTIVE=never"},
	{kv: "GH_PROMPT_DISABLED=1"},
	{kv: "SSH_ASKPASS_REQUIRE=never"},
	{kv: "GIT_SSH_COMMAND=ssh -o BatchMode=yes", onlyUnset: true},
	{kv: "DEBIAN_FRONTEND=noninteractive"},
	{kv: "PIP_NO_INPUT=1"},
}
