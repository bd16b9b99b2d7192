package builtin

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/agenttool/tool/internal/web"
)

// WebConfig says how webfetch reaches the web. The zero value is the strict
// default: addresses are checked before and at the connection, proxies of the
// environment are not used, certificates are verified, nothing is kept on disk.
type WebConfig struct {
	// Local are origins such as "http://localhost:3000" on this machine or in a
	// private network that are asked about like any page. Others there need a rule
	// or an approval that names their host; one for everything is not enough.
	Local []string

	// PrivateNets are networks that are treated as private although their addresses
	// are otherwise never connected to: 100.64.0.0/10 behind Tailscale, 64:ff9b::/96
	// behind NAT64. Metadata services in them stay out of reach.
	PrivateNets []netip.Prefix

	// Resolver looks names up, once per request; nil means [net.DefaultResolver].
	Resolver Resolver

	// RootCAs verify servers; nil means the system's.
	RootCAs *x509.CertPool

	// Transport, if not nil, makes the requests, as through a proxy. URLs are still
	// checked, also those of redirects, and with a Resolver the addresses that it
	// knows for them; but which addresses are connected to is then the transport's
	// business: this is weaker than the default. RootCAs is not used with it.
	Transport http.RoundTripper

	// UserAgent is sent to servers; "" means "agenttool".
	UserAgent string

	Time      time.Duration // of a fetch if the call has no timeout; 0: 30 s. Asking does not count
	MaxTime   time.Duration // the longest timeout that a call gets; 0: 120 s, which is also the most
	WireBytes int64         // that are received of a page; 0: 5 MB
	BodyBytes int64         // of a page that are kept once it is decompressed; 0: 20 MB
	TextBytes int           // of its text that are shown at once; 0: Limits.ReadBytes
	PerHost   int           // requests to a host at a time; 0: 4
	PerMinute int           // requests to a host within a minute; 0: 30

	// CacheTime is for how long a session gets a page again that it fetched; 0 means
	// 15 minutes, less than 0 that nothing is remembered. Permission is asked all the same. What is on
	// this machine or in a private network is fetched anew, but for its next part.
	CacheTime time.Duration
}

// Resolver looks hosts up. [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// webState is what the toolset knows of the web.
type webState struct {
	fetcher web.Fetcher
	cache   webCache
	cfg     WebConfig
}

func newWeb(cfg WebConfig, limits Limits) (*webState, error) {
	local := make([]string, len(cfg.Local))
	for i, origin := range cfg.Local {
		t, err := web.Parse(origin)
		if err != nil {
			return nil, fmt.Errorf("Web.Local: %q: %w", origin, err)
		}
		local[i] = t.Origin()
	}
	cfg.Local = local
	def(&cfg.Time, web.DefaultTimeout)
	def(&cfg.MaxTime, web.MaxTimeout)
	def(&cfg.TextBytes, limits.ReadBytes)
	if cfg.CacheTime == 0 {
		cfg.CacheTime = 15 * time.Minute
	}
	w := &webState{cfg: cfg, fetcher: web.Fetcher{
		Guard:     web.Guard{Private: cfg.PrivateNets},
		Transport: cfg.Transport,
		Limits:    web.Limits{Wire: cfg.WireBytes, Decoded: cfg.BodyBytes},
		RootCAs:   cfg.RootCAs,
		UserAgent: cfg.UserAgent,
		Pace:      &web.Pace{Parallel: cfg.PerHost, PerMinute: cfg.PerMinute},
	}}
	if cfg.Resolver != nil {
		w.fetcher.Resolver = cfg.Resolver
	}
	return w, nil
}
