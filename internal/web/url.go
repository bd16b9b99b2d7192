package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxURL is the longest text, in bytes, that is read as a URL.
const maxURL = 8 << 10

// MaxQuery is the longest query, in bytes, that raises no question: a query is
// where data leaves unnoticed.
const MaxQuery = 2 << 10

// ErrURL is matched by every error of [Parse].
var ErrURL = errors.New("web: bad URL")

// urlError is a refusal of a URL's text. Its message never repeats the URL,
// which may hold credentials or control characters.
type urlError string

func (e urlError) Error() string        { return string(e) }
func (e urlError) Is(target error) bool { return target == ErrURL }

// Target is a URL that was read strictly. It is never changed after [Parse]
// and safe for concurrent use.
type Target struct {
	// Scheme is "http" or "https".
	Scheme string
	// Host is the normalised host: lower case, ASCII, without brackets and
	// without a trailing dot. Rules, prompts and requests all use it.
	Host string
	// Written is the host as the text had it.
	Written string
	// Port is the port, with the scheme's default filled in.
	Port uint16
	// Addr is the address if the host is a literal; otherwise it is the zero
	// Addr.
	Addr netip.Addr

	url    url.URL
	mapped bool
}

// Parse reads the text of a URL without repairing anything: what it refuses,
// other parsers may read differently, and a question must be about the URL
// that is requested. It wants http or https, a host, at most 8 KiB, and no
// credentials, blanks, backslashes, control or invisible characters. Its
// errors match [ErrURL]. The fragment is dropped.
func Parse(text string) (*Target, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return nil, urlError("the URL must start with https:// or http://")
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if authority == "" {
		return nil, urlError("the URL has no host")
	}
	if strings.Contains(authority, "@") {
		return nil, urlError("the URL holds credentials (text before an @): leave them out")
	}
	if strings.Contains(authority, "%") {
		return nil, urlError("the host holds a percent sign")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User != nil || u.Host != authority {
		return nil, urlError("the URL cannot be read: check its syntax")
	}
	t := &Target{Scheme: scheme}
	if err := t.setAuthority(authority); err != nil {
		return nil, err
	}
	t.url = url.URL{Scheme: scheme, Host: t.hostPort(), Path: u.Path, RawPath: u.RawPath, RawQuery: escapeQuery(u.RawQuery)}
	// Resolving against itself removes dot segments, so that a rule about a
	// path sees the path that is requested.
	t.url = *t.url.ResolveReference(&t.url)
	if t.url.Path == "" {
		t.url.Path = "/"
	}
	return t, nil
}

// checkText refuses what no URL holds, on the raw text, because parsers differ
// in what they skip.
func checkText(text string) error {
	switch {
	case text == "":
		return urlError("the URL is empty")
	case len(text) > maxURL:
		return urlError(fmt.Sprintf("the URL is longer than %d bytes", maxURL))
	case !utf8.ValidString(text):
		return urlError("the URL is not valid UTF-8")
	}
	for _, r := range text {
		switch {
		case r == '\\':
			return urlError("the URL holds a backslash: use / or %5C")
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			return urlError("the URL holds a blank: write it as %20")
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector):
			return urlError(fmt.Sprintf("the URL holds the invisible character U+%04X", r))
		}
	}
	return nil
}

// setAuthority reads host and port. The authority holds no @ and no %.
func (t *Target) setAuthority(authority string) error {
	host, port, hasPort := authority, "", false
	bracketed := strings.HasPrefix(authority, "[")
	if bracketed {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return urlError("the host has an opening bracket without a closing one")
		}
		host = authority[1:end]
		switch after := authority[end+1:]; {
		case after == "":
		case after[0] == ':':
			port, hasPort = after[1:], true
		default:
			return urlError("there is text between the host's closing bracket and the path")
		}
	} else {
		host, port, hasPort = strings.Cut(authority, ":")
	}
	t.Port = 443
	if t.Scheme == "http" {
		t.Port = 80
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return urlError("the port must be a number from 1 to 65535")
		}
		t.Port = uint16(n)
	}
	t.Written = host
	return t.setHost(host, bracketed)
}

// String returns the URL as it is requested: normalised host, no default port,
// no fragment.
func (t *Target) String() string { return t.url.String() }

// Path returns the path as it is requested, escaped, at least "/".
func (t *Target) Path() string { return t.url.EscapedPath() }

// Query returns the query as it is requested, without the question mark.
func (t *Target) Query() string { return t.url.RawQuery }

// Origin returns scheme, host and port; the port is left out if it is the
// scheme's own.
func (t *Target) Origin() string { return t.Scheme + "://" + t.hostPort() }

func (t *Target) hostPort() string {
	host := t.Host
	if t.Addr.Is6() {
		host = "[" + host + "]"
	}
	if t.Scheme == "http" && t.Port == 80 || t.Scheme == "https" && t.Port == 443 {
		return host
	}
	return host + ":" + strconv.Itoa(int(t.Port))
}

// escapeQuery percent-encodes what may not stand in a request line and leaves
// everything else as it was written.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c >= 0x80 || strings.IndexByte("\"'<>`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Follow reads the Location of a redirect, relative to t, as strictly as
// [Parse] reads a URL.
func (t *Target) Follow(location string) (*Target, error) {
	if err := checkText(location); err != nil {
		return nil, err
	}
	ref, err := url.Parse(location)
	if err != nil || ref.Opaque != "" {
		return nil, urlError("the redirect's Location cannot be read")
	}
	if ref.Scheme != "" {
		return Parse(location)
	}
	if ref.Host != "" || strings.HasPrefix(location, "//") {
		return Parse(t.Scheme + ":" + location)
	}
	return Parse(t.url.ResolveReference(ref).String())
}

// Decide says what the text alone tells: see [Guard.DecideTarget].
func (t *Target) Decide() Decision { return Guard{}.DecideTarget(t) }

// EscapedDots tells whether a path segment is "." or ".." with a dot
// written as %2e, which some servers resolve and others do not.
func (t *Target) EscapedDots() bool {
	path := strings.ToLower(t.url.EscapedPath())
	if !strings.Contains(path, "%2e") {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if s := strings.ReplaceAll(segment, "%2e", "."); s == "." || s == ".." {
			return true
		}
	}
	return false
}
