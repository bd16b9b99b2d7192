package clienttool_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
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

// 66: what decodes encodes, and decodes to the same.
func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"type":"result","requestID":"r","result":{"status":"success","output":"o","attachments":[{"mime":"a/b","url":"data:,"}]}}`))
	f.Add([]byte(`{"requestID":"r","status":"success"}`))
	f.Add([]byte(`{"type":"client-tool-request","requestID":"r","tool":"t","input":{}}`))
	f.Add([]byte(`{"type":"hello","hello":{"protocol":1,"clientID":"a","tools":[{"id":"x"}],"live":["r"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
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
	})
}

// 66: names.
func FuzzName(f *testing.F) {
	f.Add("a", "b_read")
	f.Fuzz(func(t *testing.T, client, name string) {
		for _, n := range []clienttool.Namer{clienttool.DefaultNamer{}, clienttool.ShortNamer{}} {
			if id, err := n.Name(client, name); err == nil && (len(id) > 64 || !strings.HasPrefix(id, "client_")) {
				t.Fatal(id)
			}
		}
	})
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
