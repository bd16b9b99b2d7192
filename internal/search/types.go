package search

import (
	"fmt"
	"slices"
	"strings"
)

// typeGlobs maps names of file types to what matches them.
var typeGlobs = map[string]string{
	"asm":       "*.{asm,s,S}",
	"bazel":     "{BUILD,WORKSPACE,MODULE.bazel,*.bzl,*.bazel,BUILD.bazel}",
	"c":         "*.{c,h}",
	"clojure":   "*.{clj,cljs,cljc,edn}",
	"cmake":     "{CMakeLists.txt,*.cmake}",
	"cpp":       "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl,ipp}",
	"csharp":    "*.{cs,csx}",
	"css":       "*.{css,scss,sass,less}",
	"csv":       "*.{csv,tsv}",
	"dart":      "*.dart",
	"docker":    "{Dockerfile,Dockerfile.*,*.dockerfile,Containerfile}",
	"elixir":    "*.{ex,exs,eex,heex}",
	"erlang":    "*.{erl,hrl}",
	"fsharp":    "*.{fs,fsi,fsx}",
	"go":        "*.go",
	"gomod":     "{go.mod,go.sum,go.work,go.work.sum}",
	"graphql":   "*.{graphql,gql}",
	"groovy":    "*.{groovy,gradle}",
	"haskell":   "*.{hs,lhs}",
	"html":      "*.{html,htm}",
	"ini":       "*.{ini,cfg,conf,properties}",
	"java":      "*.java",
	"js":        "*.{js,jsx,mjs,cjs}",
	"json":      "*.{json,jsonc,json5,jsonl}",
	"julia":     "*.jl",
	"kotlin":    "*.{kt,kts}",
	"lua":       "*.lua",
	"make":      "{Makefile,makefile,GNUmakefile,*.mk,*.mak}",
	"md":        "*.{md,markdown,mdx}",
	"nix":       "*.nix",
	"objc":      "*.{m,mm,h}",
	"ocaml":     "*.{ml,mli}",
	"perl":      "*.{pl,pm,t}",
	"php":       "*.{php,phtml}",
	"proto":     "*.proto",
	"ps":        "*.{ps1,psm1,psd1}",
	"py":        "*.{py,pyi,pyx}",
	"r":         "*.{r,R,Rmd}",
	"rst":       "*.rst",
	"ruby":      "{*.rb,*.rake,*.gemspec,Gemfile,Rakefile}",
	"rust":      "*.rs",
	"scala":     "*.{scala,sc,sbt}",
	"sh":        "*.{sh,bash,zsh,fish,ksh}",
	"sql":       "*.sql",
	"svelte":    "*.svelte",
	"swift":     "*.swift",
	"terraform": "*.{tf,tfvars}",
	"toml":      "*.toml",
	"ts":        "*.{ts,tsx,mts,cts}",
	"txt":       "*.txt",
	"vue":       "*.vue",
	"web":       "*.{html,htm,css,scss,js,jsx,ts,tsx,mjs,cjs,vue,svelte}",
	"xml":       "*.{xml,xsd,xsl,xslt,svg}",
	"yaml":      "*.{yaml,yml}",
	"zig":       "*.zig",
}

var typeAliases = map[string]string{
	"bash": "sh", "c++": "cpp", "cc": "cpp", "cs": "csharp", "dockerfile": "docker", "golang": "go", "hs": "haskell",
	"javascript": "js", "jsx": "js", "kt": "kotlin", "makefile": "make", "markdown": "md", "powershell": "ps",
	"protobuf": "proto", "python": "py", "rb": "ruby", "rs": "rust", "shell": "sh", "tf": "terraform", "tsx": "ts",
	"typescript": "ts", "yml": "yaml",
}

// Types returns the names of the file types that Scope.Types understands, in
// order. Some other spellings are understood too.
func Types() []string {
	names := make([]string, 0, len(typeGlobs))
	for n := range typeGlobs {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func typeGlob(name string) (string, error) {
	n := strings.ToLower(name)
	if a, ok := typeAliases[n]; ok {
		n = a
	}
	if g, ok := typeGlobs[n]; ok {
		return g, nil
	}
	return "", fmt.Errorf("unknown file type %q; use include with a glob such as %q, or one of: %s", name, "*."+n, strings.Join(Types(), " "))
}
