package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Bounds of one connection; all of them lie within the deadline of the fetch.
const (
	connectTimeout  = 10 * time.Second
	handshakeLimit  = 15 * time.Second
	maxHeaderBytes  = 64 << 10
	maxTriedAnswers = 8
)

var errUnchecked = errors.New("web: connection to an address that was not checked")

// resolve looks the target's host up once. A literal needs no lookup.
func (r *run) resolve(target *Target) ([]netip.Addr, error) {
	return lookup(r.clock.ctx, r.fetcher.Resolver, target)
}

func lookup(ctx context.Context, resolver Resolver, target *Target) ([]netip.Addr, error) {
	if target.Addr.IsValid() {
		return []netip.Addr{target.Addr}, nil
	}
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", target.Host)
	if err != nil {
		return nil, fmt.Errorf("web: looking up %s: %w", target.Host, err)
	}
	// Resolvers may answer IPv4 in IPv6 form; the connection is IPv4.
	out := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		out[i] = a.Unmap()
	}
	return out, nil
}

// dialer connects to addresses that were checked and to nothing else: a second
// lookup could answer differently.
type dialer struct {
	target *Target
	addrs  []netip.Addr
}

// newTransport returns a transport for one hop. It has no proxy, because a
// proxy would look the name up again, and pools nothing, because a pooled
// connection would carry one call's approval into the next.
func newTransport(target *Target, addrs []netip.Addr, roots *x509.CertPool) *http.Transport {
	d := dialer{target: target, addrs: addrs}
	return &http.Transport{
		DialContext:            d.dial,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout:    handshakeLimit,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

func (d dialer) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	// The transport asks for the request's host; anything else would be a
	// connection nobody decided about.
	want := net.JoinHostPort(d.target.Host, fmt.Sprint(d.target.Port))
	if hostPort != want {
		return nil, errUnchecked
	}
	nd := net.Dialer{Timeout: connectTimeout, ControlContext: d.control}
	var errs []error
	for _, a := range d.addrs[:min(len(d.addrs), maxTriedAnswers)] {
		conn, err := nd.DialContext(ctx, "tcp", netip.AddrPortFrom(a, d.target.Port).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// control sees the address that is really connected, just before it is.
func (d dialer) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	got, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return errUnchecked
	}
	if got.Port() != d.target.Port || !slices.Contains(d.addrs, got.Addr().Unmap()) {
		return errUnchecked
	}
	return nil
}
