package httptransport

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agenttool/tool/clienttool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParser(t *testing.T) {
	p := newParser(strings.NewReader("\uFEFF: ok\nretry: 1000\n\nevent: ping\ndata: {}\nid: 7\n\ndata: a\r\ndata: b\r\n\r\nevent: none\n\ndata:c\r\rdata\n\ndata: cut"), 100)
	for _, want := range []event{{"ping", "7", []byte("{}")}, {"", "", []byte("a\nb")}, {"", "", []byte("c")}, {"", "", nil}} {
		ev, err := p.next()
		require.NoError(t, err)
		assert.Equal(t, want.name, ev.name)
		assert.Equal(t, string(want.data), string(ev.data))
	}
	_, err := p.next()
	assert.Error(t, err, "an event that was cut off is none")
	_, err = newParser(strings.NewReader("data: "+strings.Repeat("x", 1000)+"\n\n"), 100).next()
	assert.ErrorIs(t, err, clienttool.ErrTooLarge)
}

// 66: whatever comes, the parser ends, within its bound.
func FuzzParser(f *testing.F) {
	f.Add("event: a\ndata: b\n\n")
	f.Add("data\r\r\n\n:x\ndata:\x00\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		p := newParser(strings.NewReader(s), 64)
		for {
			ev, err := p.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, clienttool.ErrTooLarge) {
					t.Fatal(err)
				}
				return
			}
			if len(ev.data) > 256 {
				t.Fatalf("%d bytes", len(ev.data))
			}
		}
	})
}

// 66: event ids of strangers.
func FuzzLastEventID(f *testing.F) {
	s := &Handlers{epoch: "EPOCH"}
	f.Add("EPOCH.1.2")
	f.Add("EPOCH.18446744073709551616.-1")
	f.Fuzz(func(t *testing.T, id string) {
		seen, ours := s.seen(id)
		if !ours && (seen != clienttool.Seen{}) {
			t.Fatal("a stranger's id says something")
		}
	})
}
