package clienttool_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/agenttool/tool/clienttool"
	ct "github.com/agenttool/tool/clienttool/clienttooltest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// fault is one thing that goes wrong, in a bubble of virtual time. clienttooltest.Run
// checks at its end that no call is live, no goroutine left, and that every call had
// exactly one event that ended it.
type fault struct {
	n    int
	name string
	opt  clienttool.Options
	f    func(t *testing.T, ctx context.Context, r *ct.Rig)
}

// realFaults need real threads, a real network, or nothing but a function.
var realFaults = []struct {
	n    int
	name string
	f    func(t *testing.T)
}{
	{22, "cut", faultRandomCuts},
	{22, "lost, doubled and swapped frames", faultLossyLink},
	{22, "cut and restarted", faultRandomRestarts},
	{23, "each alone", faultLostFrame},
	{28, "threads", faultSettleRace},
	{29, "every method", faultCallbacks(false)},
	{30, "of the hub", faultCallbacks(true)},
	{30, "of a call", faultCallbackPanics},
	{31, "for ever", faultBlockedSubscriber},
	{36, "while approval is open", faultChangedWhileAsking},
	{38, "", faultEmptyList},
	{39, "in either order", faultAmbiguousNames},
	{40, "", faultNames},
	{41, "", faultSchemas},
	{50, "a proxy that swallows", faultHalfOpen},
	{57, "", faultClocks},
	{61, "", faultStorm},
	{66, "messages", func(t *testing.T) { mutate(t, decodeSeeds, checkDecode) }},
	{66, "names", func(t *testing.T) {
		mutate(t, nameSeeds, func(t testing.TB, b []byte) { checkName(t, string(b), string(b)) })
	}},
	{66, "schemas", func(t *testing.T) { mutate(t, schemaSeeds, checkSchema) }},
}

// faultTitles is the list of faults that docs/delegation.md speaks of. Those that
// are missing here, and the rest of 66, are about HTTP: package httptransport has them.
var faultTitles = map[int]string{
	1: "none", 2: "fifty results at once for one call", 3: "result by another principal, another client, after settlement",
	4: "link cut while the tool runs, which ends offline", 5: "call started during the grace period", 6: "link cut, never back",
	7: "client restarts, tool not idempotent", 8: "client restarts, tool idempotent", 9: "stale close after a reconnect",
	10: "handler ignores cancellation and ends late", 11: "Send never returns, caller cancels", 12: "cancel while queued",
	13: "queue full", 14: "forty calls, limit four", 15: "same request id twice", 16: "peer stops reading",
	17: "another principal takes the client id", 18: "handler panics", 19: "transport doubles each request",
	20: "reconnect while running", 21: "caller cancels while running", 22: "random cuts", 23: "a frame is dropped",
	24: "cancel before its request", 25: "progress after the result", 26: "result before the acknowledgement",
	27: "result at the instant of timeout, cancel, expiry", 28: "settle from six goroutines", 29: "hub calls from inside callbacks",
	30: "callback panics", 31: "subscriber blocks", 32: "two instances of one id", 34: "link 29 and 31 seconds after registering",
	35: "register overtakes unregister", 36: "definition changes while queued or asked about", 37: "unregister while running",
	38: "unregister an empty list", 39: "names that look the same", 40: "hostile names", 41: "hostile schemas",
	42: "input violates the schema", 43: "malformed results", 44: "result too large for the client to send", 45: "flood of progress",
	46: "cancel behind eight megabytes of requests", 47: "one session floods the queue", 48: "the 101st call in a minute",
	49: "ping flood, silence, dead generations", 50: "half-open link", 55: "shutdown", 56: "contexts and limits at the edge",
	57: "clocks jump", 58: "instance ids", 59: "resume tokens", 60: "tombstone evicted", 61: "ten thousand clients cut at once", 66: "decoders",
}

func TestFaults(t *testing.T) {
	bubbles := slices.Concat(settleFaults, linkFaults, limitFaults)
	for n := 1; n <= 66; n++ {
		title, ok := faultTitles[n]
		if !ok {
			continue
		}
		t.Run(fmt.Sprintf("fault %02d: %s", n, title), func(t *testing.T) {
			some := false
			for _, f := range bubbles {
				if f.n == n {
					some = true
					t.Run(f.name, f.run)
				}
			}
			for _, f := range realFaults {
				if f.n == n {
					some = true
					t.Run(f.name, func(t *testing.T) {
						defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
						f.f(t)
					})
				}
			}
			require.True(t, some, "nothing tests this fault")
		})
	}
}

// What is no fault, but part of every call's life.
func TestLifecycle(t *testing.T) {
	for _, f := range lifecycle {
		t.Run(f.name, f.run)
	}
}

func (f *fault) run(t *testing.T) {
	ct.Run(t, f.opt, func(ctx context.Context, r *ct.Rig) { f.f(r.T, ctx, r) })
}
