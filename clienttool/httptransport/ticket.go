package httptransport

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/agenttool/tool/clienttool"
)

// Tickets are one-time stand-ins for credentials, for where a browser cannot send
// a header. The zero value is ready; it must not be copied. A ticket ends up in
// URLs: keep query strings out of logs.
type Tickets struct {
	TTL time.Duration // 0: 30 s
	Max int           // unredeemed at once; 0: 10 000

	mu sync.Mutex
	m  map[string]ticket
}

type ticket struct {
	peer  clienttool.Peer
	till  time.Time
	bound bool // to the origin
	from  string
}

var errTickets = errors.New("too many tickets")

// Issue returns a ticket that is good for one request as p, from any page that the
// Guard lets in. Set p.ClientID to bind it to one client. The route /ticket binds its
// tickets to the page that asks as well.
func (t *Tickets) Issue(p clienttool.Peer) (string, error) { return t.issue(ticket{peer: p}) }

func (t *Tickets) issue(v ticket) (string, error) {
	ttl, most := t.TTL, t.Max
	if ttl == 0 {
		ttl = 30 * time.Second
	}
	if most == 0 {
		most = 10_000
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if len(t.m) >= most {
		for k, v := range t.m {
			if now.After(v.till) {
				delete(t.m, k)
			}
		}
		if len(t.m) >= most {
			return "", errTickets
		}
	}
	if t.m == nil {
		t.m = make(map[string]ticket)
	}
	id := rand.Text()
	v.till = now.Add(ttl)
	t.m[id] = v
	return id, nil
}

func (t *Tickets) redeem(id, origin string) (clienttool.Peer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.m[id]
	delete(t.m, id)
	if !ok || time.Now().After(v.till) || v.bound && v.from != origin {
		return clienttool.Peer{}, false
	}
	return v.peer, true
}
