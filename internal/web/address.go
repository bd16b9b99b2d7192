package web

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Class says what kind of network an address belongs to. The zero value is
// Never, so that what nobody classified is not reached.
type Class int

// The classes of addresses.
const (
	// Never is reached by no approval: metadata services, link-local,
	// multicast, documentation, transition and unassigned ranges.
	Never Class = iota
	// Private is a network of somebody's own: 10/8, 172.16/12, 192.168/16,
	// fc00::/7 and the prefixes a [Guard] adds.
	Private
	// Loopback is this machine.
	Loopback
	// Public is everything else.
	Public
)

// String returns "never", "private", "loopback" or "public".
func (c Class) String() string {
	switch c {
	case Public:
		return "public"
	case Loopback:
		return "loopback"
	case Private:
		return "private"
	default:
		return "never"
	}
}

// Guard decides about targets and addresses. The zero value is the strict
// default. It is safe for concurrent use as long as nobody changes it.
type Guard struct {
	// Private lists prefixes which count as private networks although they
	// lie in a range that is never reached: 100.64.0.0/10 behind Tailscale,
	// 64:ff9b::/96 behind NAT64. Metadata addresses inside stay out of reach.
	// Nil adds none.
	Private []netip.Prefix
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// metadata lists addresses that hand out credentials; no configuration
// reaches them.
var metadata = prefixes(
	"169.254.0.0/16",     // AWS, GCP, Azure, ECS
	"100.100.100.200/32", // Alibaba
	"192.0.0.192/32",     // Oracle
	"168.63.129.16/32",   // Azure
	"fd00:ec2::/32",      // AWS
	"fd20:ce::/32",       // GCP
)

// never lists the ranges of the special-purpose registries (RFC 6890 and its
// updates) in which no page lives.
var never = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	"5f00::/16", "fe80::/10", "fec0::/10", "ff00::/8",
)

var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Class classifies an address that is about to be connected to. An IPv4
// address in IPv6 form counts as the IPv4 address, because that is what is
// connected. The zero Addr and addresses with a zone are Never.
func (g Guard) Class(a netip.Addr) Class {
	if !a.IsValid() || a.Zone() != "" {
		return Never
	}
	a = a.Unmap()
	switch {
	case within(metadata, a):
		return Never
	case a.IsLoopback():
		return Loopback
	case within(g.Private, a) && !a.IsUnspecified() && !a.IsMulticast():
		if nat64.Contains(a) {
			// The last four bytes are the IPv4 address behind the gateway.
			b := a.As16()
			if g.Class(netip.AddrFrom4([4]byte(b[12:]))) != Public {
				return Never
			}
		}
		return Private
	case within(never, a):
		return Never
	case a.IsPrivate():
		return Private
	case a.Is6() && !globalUnicast.Contains(a):
		return Never
	}
	return Public
}

// badPorts are the ports of other protocols: the list of the fetch standard,
// memcached and MongoDB.
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
	110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
	531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
	5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017,
}

// databasePorts are asked about on this machine and denied elsewhere.
var databasePorts = []uint16{3306, 5432, 6379, 9200}

var usualPorts = []uint16{80, 443, 8080, 8443}

// DecideTarget decides by the text of a URL, before anything is looked up.
func (g Guard) DecideTarget(t *Target) Decision {
	d := Decision{Action: Allow, Origin: t.Origin()}
	local := isLocalhost(t.Host)
	if t.Addr.IsValid() {
		switch class := g.Class(t.Addr); {
		case t.Addr.Is4In6():
			d = d.stricter(Deny, "an IPv4 address written as IPv6")
		case class == Never:
			d = d.stricter(Deny, fmt.Sprintf("%s is a special or metadata address", t.Addr))
		case class == Loopback:
			local = true
		case class == Private:
			d = d.stricter(Ask, fmt.Sprintf("%s is in a private network", t.Addr))
		default:
			d = d.stricter(Ask, "the host is an address, not a name")
		}
	}
	if isMetadataName(t.Host) {
		d = d.stricter(Deny, t.Host+" is a metadata service")
	}
	if local {
		d = d.stricter(Ask, t.Host+" is this machine")
	}
	if t.mapped {
		d = d.stricter(Ask, fmt.Sprintf("the host %q is requested as %s", t.Written, t.Host))
	}
	switch {
	case slices.Contains(badPorts, t.Port), slices.Contains(databasePorts, t.Port) && !local:
		d = d.stricter(Deny, fmt.Sprintf("port %d belongs to another protocol", t.Port))
	case !slices.Contains(usualPorts, t.Port):
		d = d.stricter(Ask, fmt.Sprintf("unusual port %d", t.Port))
	}
	if n := len(t.Query()); n > MaxQuery {
		d = d.stricter(Ask, fmt.Sprintf("the query is %d bytes long", n))
	}
	if t.EscapedDots() {
		d = d.stricter(Ask, "the path holds dots written as %2e")
	}
	return d
}

// DecideAddrs decides about all the answers of one lookup of the target's
// host. No answers, any answer of the class Never, and answers of different
// classes are denied. Loopback is asked about only if the URL says openly that
// it means this machine; a name that says so must not lead anywhere else.
func (g Guard) DecideAddrs(t *Target, addrs []netip.Addr) Decision {
	d := Decision{Action: Allow, Origin: t.Origin()}
	if len(addrs) == 0 {
		return d.stricter(Deny, t.Host+" has no addresses")
	}
	class := g.Class(addrs[0])
	for _, a := range addrs {
		switch c := g.Class(a); {
		case c == Never:
			return d.stricter(Deny, fmt.Sprintf("%s leads to the special or metadata address %s", t.Host, a))
		case c != class:
			return d.stricter(Deny, t.Host+" leads to addresses of different networks")
		}
	}
	open := isLocalhost(t.Host) || t.Addr.IsValid()
	switch {
	case class == Loopback && !open:
		return d.stricter(Deny, t.Host+" leads to this machine without saying so")
	case class != Loopback && isLocalhost(t.Host):
		return d.stricter(Deny, t.Host+" leads to another machine")
	case class == Loopback:
		return d.stricter(Ask, t.Host+" is this machine")
	case class == Private:
		return d.stricter(Ask, fmt.Sprintf("%s is in a private network (%s)", t.Host, joinAddrs(addrs)))
	}
	return d
}

// joinAddrs lists the first few addresses for a reason.
func joinAddrs(addrs []netip.Addr) string {
	const most = 3
	var b strings.Builder
	for i, a := range addrs {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(addrs)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.Unmap().String())
	}
	return b.String()
}
