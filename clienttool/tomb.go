package clienttool

import "time"

// tombs remembers how calls ended, so that a result that comes again is answered
// the same way. It is bounded in age, in all, and per client.
type tombs struct {
	ttl       time.Duration
	most      int
	perClient int
	byID      map[string]*tomb
	fifo      []*tomb // oldest first, from head
	head      int
}

type tomb struct {
	id      string
	owner   *grave
	verdict Verdict
	at      time.Time
}

// grave is the owner of tombs; it outlives the lease.
type grave struct {
	principal, clientID string
	ids                 []string // oldest first
}

func (t *tombs) init(ttl time.Duration, most, perClient int) {
	t.ttl, t.most, t.perClient = ttl, most, perClient
	t.byID = make(map[string]*tomb)
}

func (t *tombs) add(id string, owner *grave, v Verdict) {
	now := time.Now()
	tb := &tomb{id, owner, v, now}
	t.byID[id] = tb
	t.fifo = append(t.fifo, tb)
	owner.ids = append(owner.ids, id)
	if over(len(owner.ids), t.perClient) {
		delete(t.byID, owner.ids[0])
		owner.ids = owner.ids[1:]
	}
	for t.head < len(t.fifo) {
		old := t.fifo[t.head]
		live := t.byID[old.id] == old
		if live && !over(len(t.byID), t.most) && now.Sub(old.at) < t.ttl {
			break
		}
		if live {
			delete(t.byID, old.id)
			if ids := old.owner.ids; len(ids) > 0 && ids[0] == old.id {
				old.owner.ids = ids[1:]
			}
		}
		t.fifo[t.head] = nil
		t.head++
	}
	if t.head > len(t.fifo)/2 && t.head > 64 {
		t.fifo = append(t.fifo[:0:0], t.fifo[t.head:]...)
		t.head = 0
	}
}

// get returns the verdict on a call that ended, for its owner only.
func (t *tombs) get(id string, who owner) (Verdict, bool) {
	tb := t.byID[id]
	if tb == nil || time.Since(tb.at) >= t.ttl || !who.owns(tb.owner.principal, tb.owner.clientID) {
		return "", false
	}
	return tb.verdict, true
}

// owner is who answers a call.
type owner struct {
	principal string
	clientID  string // "": any of the principal
	trusted   bool   // the host itself
}

func (o owner) owns(principal, clientID string) bool {
	return o.trusted || o.principal == principal && (o.clientID == "" || o.clientID == clientID)
}
