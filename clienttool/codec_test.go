package clienttool_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool"
	"github.com/agenttool/tool/clienttool"
	"github.com/agenttool/tool/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ in, typ string }{
		{`{"type":"result","requestID":"r","result":{"status":"success","output":"o"}}`, "result"},
		{`{"type":"client-tool-response","requestID":"r","result":{"status":"error","error":"e"}}`, "result"},
		{`{"requestID":"r","status":"success","output":"o"}`, "result"},
		{`{"requestID":"r","status":"error","error":"e"}`, "result"},
		{`{"type":"client-tool-request","requestID":"r","tool":"t","input":{"n":9007199254740993}}`, "request"},
		{`{"type":"request","request":{"requestID":"r","tool":"t","input":{}}}`, "request"},
		{`{"type":"something-new","x":1}`, "something-new"},
	} {
		m, err := clienttool.DecodeMessage([]byte(c.in), clienttool.DecodeLimits{})
		require.NoError(t, err, c.in)
		assert.Equal(t, c.typ, m.Type)
		if m.Type == "result" {
			assert.NotEmpty(t, m.Result.Status)
			assert.NotEmpty(t, m.Result.Output+m.Result.Error)
		}
		if m.Type == "request" {
			assert.Equal(t, "r", m.Request.RequestID)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"type":1}`, `{"type":"ping"} x`, "{\"type\":\"ping\",\"error\":\"\xff\"}",
		`{"type":"result","requestID":"a","requestID":"b"}`, `{"type":"result","type":"bye"}`, `{"type":"result","requestID":"a","REQUESTID":"b"}`,
		`{"type":"result","requestID":"a","\u0072equestID":"b"}`} {
		_, err := clienttool.DecodeMessage([]byte(bad), clienttool.DecodeLimits{})
		assert.ErrorIs(t, err, clienttool.ErrMessage, bad)
	}
	_, err := clienttool.DecodeMessage([]byte(`{"type":"ping","error":"`+strings.Repeat("x", 5<<20)+`"}`), clienttool.DecodeLimits{})
	assert.ErrorIs(t, err, clienttool.ErrTooLarge)
	_, err = clienttool.DecodeMessage([]byte(`{"type":"ack","requestIDs":[`+strings.Repeat(`"a",`, 5000)+`"a"]}`), clienttool.DecodeLimits{})
	assert.ErrorIs(t, err, clienttool.ErrTooLarge)
	none, err := clienttool.DecodeMessage([]byte(`{"type":"unregister"}`), clienttool.DecodeLimits{})
	require.NoError(t, err)
	empty, err := clienttool.DecodeMessage([]byte(`{"type":"unregister","toolIDs":[]}`), clienttool.DecodeLimits{})
	require.NoError(t, err)
	assert.Nil(t, none.ToolIDs)
	assert.NotNil(t, empty.ToolIDs)
}

var decodeSeeds = []string{
	`{"type":"result","requestID":"r","result":{"status":"success","output":"o","attachments":[{"mime":"a/b","url":"data:,"}]}}`,
	`{"requestID":"r","status":"success"}`,
	`{"type":"client-tool-request","requestID":"r","tool":"t","input":{}}`,
	`{"type":"hello","hello":{"protocol":1,"clientID":"a","tools":[{"id":"x"}],"live":["r"]}}`,
}

// checkDecode holds that what decodes encodes, and decodes to the same.
func checkDecode(t testing.TB, b []byte) {
	m, err := clienttool.DecodeMessage(b, clienttool.DecodeLimits{MaxBytes: 1 << 16})
	if err != nil {
		return
	}
	one, err := clienttool.EncodeMessage(nil, m)
	require.NoError(t, err)
	assert.NotContains(t, string(one), "\n")
	again, err := clienttool.DecodeMessage(one, clienttool.DecodeLimits{MaxBytes: -1})
	require.NoError(t, err, "%s", one)
	two, err := clienttool.EncodeMessage(nil, again)
	require.NoError(t, err)
	if !bytes.Equal(one, two) {
		t.Fatalf("%s\n%s", one, two)
	}
}

func FuzzDecodeMessage(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkDecode(t, b) })
}

var nameSeeds = []string{"b_read", "läs fil", "client_reset", strings.Repeat("long", 100), "x-abcdef", "a:b.c-d_e"}

// checkName holds that an id is short and marked as a client's, or none.
func checkName(t testing.TB, client, name string) {
	for _, n := range []clienttool.Namer{clienttool.DefaultNamer{}, clienttool.ShortNamer{}} {
		id, err := n.Name(client, name)
		if err == nil && (tool.CheckName(id) != nil || !strings.HasPrefix(id, "client_")) {
			t.Fatal(id)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range nameSeeds {
		f.Add("a", s)
	}
	f.Fuzz(func(t *testing.T, client, name string) { checkName(t, client, name) })
}

var schemaSeeds = []string{
	`{"type":"object","properties":{"a":{"type":"string","pattern":"a+"}},"required":["a"]}`,
	`{"type":"object","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"type":"object"}},"allOf":[{"$ref":"#/$defs/a"}]}`,
	`{"type":"object","properties":{"c":{"$ref":"#"}},"additionalProperties":false}`,
	`{"type":"object","anyOf":[{"not":{"required":["x"]}},{"if":{"type":"object"},"then":{},"else":{"$dynamicRef":"#"}}]}`,
}

// checkSchema holds that whatever passes the guard can be used: quickly, and without
// the overflow of the stack that nothing could recover from.
func checkSchema(t testing.TB, b []byte) {
	begin := time.Now()
	s, err := schema.Compile(b)
	if err == nil {
		s.Validate([]byte(`{"a":"aaa","c":{"c":{"c":{}}},"x":[1,{"a":null}]}`)) // either answer will do
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Fatalf("%s took %s", b, d)
	}
}

func FuzzSchema(f *testing.F) {
	for _, s := range schemaSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkSchema(t, b) })
}

// mutate is what a fuzzer does, for as long as a test may take and the same each time.
func mutate(t *testing.T, seeds []string, check func(testing.TB, []byte)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := []byte(seeds[rnd.IntN(len(seeds))])
		for range 1 + rnd.IntN(4) {
			at := rnd.IntN(len(b) + 1)
			switch rnd.IntN(4) {
			case 0:
				b = append(b[:at:at], append([]byte{byte(rnd.Uint32())}, b[at:]...)...)
			case 1:
				b = b[:at]
			case 2:
				other := seeds[rnd.IntN(len(seeds))]
				b = append(b[:at:at], other[rnd.IntN(len(other)+1):]...)
			case 3:
				if at < len(b) {
					b[at] = byte(rnd.Uint32())
				}
			}
		}
		check(t, b)
	}
}

func TestParseConfig(t *testing.T) {
	c, err := clienttool.ParseConfig([]byte(`{"theme":"x","clientTools":{"defaultTimeout":1500,"keepaliveInterval":30000}}`))
	require.NoError(t, err)
	assert.Equal(t, clienttool.Config{DefaultTimeout: 1500 * time.Millisecond, KeepaliveInterval: 30 * time.Second}, c)
	var o clienttool.Options
	c.Apply(&o)
	assert.Equal(t, 1500*time.Millisecond, o.Timeout)
	c, err = clienttool.ParseConfig([]byte(`{}`))
	require.NoError(t, err)
	assert.Zero(t, c)
	for _, bad := range []string{`{`, `{"clientTools":{"defaultTimeout":0}}`, `{"clientTools":{"defaultTimeout":-1}}`, `{"clientTools":{"keepaliveInterval":"30s"}}`} {
		_, err = clienttool.ParseConfig([]byte(bad))
		assert.Error(t, err, bad)
	}
}
