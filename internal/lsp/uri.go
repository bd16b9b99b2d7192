package lsp

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string { return uriOf(filepath.ToSlash(path), runtime.GOOS == "windows") }

// filePath returns the absolute path that a file URI stands for.
func filePath(uri string) (string, error) {
	p, err := pathOf(uri, runtime.GOOS == "windows")
	return filepath.FromSlash(p), err
}

// uriOf is fileURI for a path with slashes, of either kind of system.
func uriOf(p string, windows bool) string {
	host := ""
	if windows {
		p = strings.ReplaceAll(p, `\`, "/")
		switch {
		case strings.HasPrefix(p, "//"): // a share: //host/name
			host, p, _ = strings.Cut(p[2:], "/")
			p = "/" + p
		case hasDrive(p):
			p = "/" + strings.ToUpper(p[:1]) + p[1:]
		}
	}
	var b strings.Builder
	b.WriteString("file://")
	b.WriteString(host)
	for i := range len(p) {
		switch c := p[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-_.~", c) >= 0:
			b.WriteByte(c)
		case c == ':' && windows && i == 2 && hasDrive(p[1:]):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// pathOf is filePath, with slashes, for either kind of system.
func pathOf(uri string, windows bool) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: %q is not the address of a file: %s", ErrProtocol, clip(uri, 200), why)
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return bad("it cannot be parsed")
	case !strings.EqualFold(u.Scheme, "file"):
		return bad("its scheme is not file")
	case strings.ContainsRune(u.Path, 0):
		return bad("it contains a NUL")
	}
	p := u.Path
	if windows {
		p = strings.ReplaceAll(p, `\`, "/")
		if len(p) > 2 && p[0] == '/' && hasDrive(p[1:]) {
			p = strings.ToUpper(p[1:2]) + p[2:]
		} else if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
			p = "//" + u.Host + p
		}
		if !hasDrive(p) && !strings.HasPrefix(p, "//") {
			return bad("it has no drive")
		}
		if strings.HasPrefix(p, "//") {
			return "/" + path.Clean(p[1:]), nil
		}
		return path.Clean(p), nil
	}
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return bad("it names another machine")
	}
	if !strings.HasPrefix(p, "/") {
		return bad("it is not absolute")
	}
	return path.Clean(p), nil
}

// hasDrive reports whether p begins with the letter of a drive and a colon.
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}
