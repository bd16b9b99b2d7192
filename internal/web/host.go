package web

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// setHost normalises the host. Whatever form resolvers, parsers and browsers
// read differently is refused instead of interpreted.
func (t *Target) setHost(host string, bracketed bool) error {
	if bracketed {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return urlError("the host in brackets is not an IPv6 address")
		}
		t.Host, t.Addr = addr.String(), addr
		return nil
	}
	ascii := isASCII(host)
	name := strings.ToLower(host)
	if !ascii || hasPunycode(name) {
		// The lookup profile also maps full stops of other scripts and wide
		// digits, which is how a host can turn into an address.
		mapped, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
		if err != nil {
			return urlError("the host is not a valid internationalised name")
		}
		name, t.mapped = mapped, true
	}
	name = strings.TrimSuffix(name, ".")
	if err := checkName(name); err != nil {
		return err
	}
	t.Host = name
	if !endsInNumber(name) {
		return nil
	}
	addr, err := netip.ParseAddr(name)
	if err != nil || !ascii {
		return urlError("the host looks like an address in an unusual spelling: write it as four decimal numbers")
	}
	t.Addr = addr
	return nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func hasPunycode(name string) bool {
	return strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--")
}

// checkName wants labels of letters, digits, hyphens and underscores, of at
// most 63 bytes, 253 in all, as the DNS does. Names that exist use
// underscores and hyphens in places where the host name rules do not.
func checkName(name string) error {
	if len(name) > 253 {
		return urlError("the host is longer than 253 bytes")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return urlError("the host has an empty label")
		}
		if len(label) > 63 {
			return urlError("the host has a label longer than 63 bytes")
		}
		for i := range len(label) {
			c := label[i]
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return urlError("the host holds a character that no host name has")
			}
		}
	}
	return nil
}

// endsInNumber tells whether the last label is a number, decimal or
// hexadecimal: getaddrinfo reads such hosts as addresses (127.1, 0x7f000001,
// 017700000001), other resolvers do not.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = rest, "0123456789abcdef"
	}
	return strings.Trim(last, digits) == ""
}

// isLocalhost tells whether a name says openly that it means this machine:
// localhost and, by RFC 6761, every name below it.
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// isMetadataName knows the names under which clouds hand out credentials.
func isMetadataName(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	if first == "metadata" && !strings.Contains(name, ".") || strings.HasPrefix(first, "instance-data") {
		return true
	}
	for _, n := range []string{"metadata.google.internal", "metadata.goog"} {
		if name == n || strings.HasSuffix(name, "."+n) {
			return true
		}
	}
	return false
}
