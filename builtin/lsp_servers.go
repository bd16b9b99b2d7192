package builtin

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenttool/tool/internal/lsp"
)

// LanguageServer says how a language server is started and what it is for. Being
// in [Config].LanguageServers is what allows it to be run: it is started when a
// file that it is for is read, changed or asked about, with the environment of
// commands, and never downloaded. [Gopls] and its like are ready-made.
//
// A server runs code of the project where the language calls for it: build
// scripts, macros, plugins.
type LanguageServer struct {
	Name    string   // for messages; "" means the base name of Command
	Command string   // a name that is looked up in PATH outside of the project, or an absolute path
	Args    []string // without the command
	Env     []string // "NAME=value", over the environment of commands

	// Extensions are the files that the server is for: the language id of the
	// protocol by extension, as ".go": "go", or by whole name, as "go.mod": "go.mod".
	Extensions map[string]string

	// RootMarkers are names of files by which the root of a server is found, the
	// most telling first: the nearest directory above a file, within the project,
	// that has the first one; if none has, the second counts, and so on. Without
	// any that is the project. Each root gets a server of its own.
	RootMarkers []string

	InitOptions any            // initializationOptions of the protocol; nil sends none
	Settings    map[string]any // what workspace/configuration is answered with, by section

	// Install is told to the model if the command is not there, in one line.
	Install string

	StartTimeout   time.Duration // for the handshake; 0 means 30 s
	RequestTimeout time.Duration // for an answer; 0 means 20 s
	IdleTimeout    time.Duration // after which an unused server is ended; 0 means 10 min, negative never
}

// Gopls is the server for Go.
func Gopls() LanguageServer {
	return LanguageServer{
		Name: "gopls", Command: "gopls", Extensions: map[string]string{".go": "go", "go.mod": "go.mod", "go.work": "go.work"},
		RootMarkers: []string{"go.work", "go.mod"},
		// What is wrong in other packages is told soon after what is wrong in the one that was changed.
		InitOptions: map[string]any{"diagnosticsDelay": "50ms"},
		Install:     "go install golang.org/x/tools/gopls@latest",
	}
}

// TypeScript is typescript-language-server, for TypeScript and JavaScript.
func TypeScript() LanguageServer {
	return LanguageServer{
		Name: "typescript-language-server", Command: "typescript-language-server", Args: []string{"--stdio"},
		Extensions: map[string]string{
			".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
			".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
		},
		RootMarkers: []string{"tsconfig.json", "jsconfig.json", "package.json"},
		Install:     "npm install -g typescript-language-server typescript",
	}
}

// Pyright is the server for Python.
func Pyright() LanguageServer {
	return LanguageServer{
		Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"},
		Extensions:  map[string]string{".py": "python", ".pyi": "python"},
		RootMarkers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"},
		Settings:    map[string]any{"python": map[string]any{"analysis": map[string]any{"diagnosticMode": "openFilesOnly"}}},
		Install:     "npm install -g pyright",
	}
}

// RustAnalyzer is the server for Rust. It runs the build scripts and macros of
// the project.
func RustAnalyzer() LanguageServer {
	return LanguageServer{
		Name: "rust-analyzer", Command: "rust-analyzer", Extensions: map[string]string{".rs": "rust"},
		RootMarkers: []string{"Cargo.toml"}, Install: "rustup component add rust-analyzer",
	}
}

// Clangd is the server for C and C++.
func Clangd() LanguageServer {
	return LanguageServer{
		Name: "clangd", Command: "clangd",
		Extensions: map[string]string{
			".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".m": "objective-c", ".mm": "objective-cpp",
		},
		RootMarkers: []string{"compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt", "Makefile"},
		Install:     "install clangd from your distribution or from llvm.org",
	}
}

// queryTime is how long a question is waited for, beyond the times of a server's
// configuration.
const queryTime = 2 * time.Minute

// openLSP makes what the tool lsp stands on, if the configuration has it.
func (ts *Toolset) openLSP() error {
	ts.lsp, ts.queries.limit = ts.cfg.LSP, queryTime
	if len(ts.cfg.LanguageServers) == 0 {
		return nil
	}
	if ts.lsp != nil {
		return fmt.Errorf("builtin: Config.LSP and Config.LanguageServers exclude each other")
	}
	opt := lsp.Options{Root: ts.fsys.dir, Env: ts.env, Files: lspFiles{ts}}
	names := make(map[string]bool)
	for _, s := range ts.cfg.LanguageServers {
		srv := lsp.Server{
			Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Languages: s.Extensions, RootMarkers: s.RootMarkers,
			InitOptions: s.InitOptions, Settings: s.Settings, Hint: s.Install,
			StartTimeout: s.StartTimeout, RequestTimeout: s.RequestTimeout, IdleTimeout: s.IdleTimeout,
		}
		if srv.Name == "" {
			srv.Name = strings.TrimSuffix(filepath.Base(s.Command), ".exe")
		}
		switch {
		case s.Command == "":
			return fmt.Errorf("builtin: Config.LanguageServers: %q has no Command", s.Name)
		case !filepath.IsAbs(s.Command) && filepath.Base(s.Command) != s.Command:
			return fmt.Errorf("builtin: Config.LanguageServers: the command %q is neither a name nor an absolute path", s.Command)
		case len(s.Extensions) == 0:
			return fmt.Errorf("builtin: Config.LanguageServers: %s has no Extensions", srv.Name)
		case names[srv.Name]:
			return fmt.Errorf("builtin: Config.LanguageServers: there are two named %s", srv.Name)
		}
		names[srv.Name] = true
		opt.Servers = append(opt.Servers, srv)
		ts.queries.limit = max(ts.queries.limit, srv.StartTimeout+srv.RequestTimeout+queryTime)
	}
	ts.servers = &languageServers{client: lsp.New(opt), limit: ts.limits.DiagnosticsTime}
	ts.lsp = ts.servers
	return nil
}
