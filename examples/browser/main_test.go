package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenttool/tool/clienttool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buffer is what the program prints.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startHost runs the program without its main; ended is closed when it has ended.
func startHost(t *testing.T, once bool) (h *host, out *buffer, ended <-chan struct{}) {
	out = &buffer{}
	h, err := newHost("127.0.0.1:0", out)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, h.run(ctx, once))
	}()
	t.Cleanup(func() { cancel(); <-done })
	return h, out, done
}

const wantTranscript = `agent: Let me look at your page.
> page_title: {}
<: A tab that lends its tools
agent: I shall draw you a star.
> ask_number: {"question":"How many points shall the star have?","min":3,"max":12}
<: 7
> draw_star: {"points":7}
host: cuts the connection, while the tab is drawing
<: Drew a star of 7 points. [image/png]
> remember: {"key":"points","value":"7"}
asked: page_memory write points: yes
<: Kept points.
> recall: {"key":"points"}
<: 7
> forget_all: {}
asked: page_memory clear: no
failed: Permission denied: page_memory clear. Keep what the page remembers. Do not repeat the same call; choose another way or ask the user.
agent: A star of 7 points, and your page remembers it.
`

// TestTab is a user with a browser: the tab's tools are called, the connection is
// cut while one runs, and all of it is seen in the page.
func TestTab(t *testing.T) {
	t.Run("websocket", func(t *testing.T) {
		testTab(t, "websocket", "connected over a WebSocket", os.Getenv("BROWSER_SCREENSHOT"))
	})
	t.Run("sse", func(t *testing.T) { testTab(t, "sse", "connected over an event stream", "") })
}

func testTab(t *testing.T, transport, connected, screenshot string) {
	c := newChromium(t)
	h, out, _ := startHost(t, false)
	p := c.open(h.url() + "&transport=" + transport)
	p.until(`document.querySelector("#link").innerText === "` + connected + `"`)
	hash, err := p.eval("location.href")
	require.NoError(t, err)
	assert.NotContains(t, hash, h.key, "the key does not stay in the address")
	assert.Empty(t, p.nameless())

	p.click("#run")
	p.until(`document.querySelector("#question").open`)
	assert.Equal(t, "How many points shall the star have?", p.text("#asked"))
	p.typeText("70")
	p.press("Enter", 13)
	open, err := p.eval(`document.querySelector("#question").open`)
	require.NoError(t, err)
	assert.Equal(t, true, open, "seventy points are too many")
	_, err = p.eval(`document.querySelector("#number").value = ""`)
	require.NoError(t, err)
	p.typeText("7")
	p.press("Enter", 13)
	p.until(`document.querySelector("#transcript").innerText.includes("your page remembers it")`)
	assert.Equal(t, wantTranscript, out.String())

	p.until(`document.querySelectorAll("#calls .done").length === 5 && [...document.querySelectorAll("#calls .state")].every((s) => s.innerText.endsWith("delivered"))`)
	calls := p.text("#calls")
	for _, want := range []string{"The connection was lost; what runs goes on.", "nothing ran twice", "Drew a star of 7 points.", "denied, delivered"} {
		assert.Contains(t, calls, want)
	}
	assert.Equal(t, 1, strings.Count(calls, "draw_star"), "it ran once")
	label, err := p.eval(`document.querySelector("canvas").getAttribute("aria-label")`)
	require.NoError(t, err)
	assert.Equal(t, "A star of 7 points.", label)
	assert.Empty(t, p.nameless())
	shot := p.screenshot()
	if screenshot != "" {
		require.NoError(t, os.WriteFile(screenshot, shot, 0o600))
	}
	assert.Greater(t, len(shot), 20_000)

	// The page comes back from a reload with its key, and without its old tools.
	p.do("Page.reload", map[string]any{}, nil)
	p.until(`document.readyState === "complete" && document.querySelector("#link").innerText.startsWith("connected")`)
	assert.Contains(t, p.text("#memory"), "7")
	for _, problem := range c.trouble() { // the cut is the only thing that a browser finds worth telling
		assert.Regexp(t, "WebSocket connection to|net::ERR_.*/client-tools/", problem)
	}
}

// TestTabClosed closes the tab while it has a question open: the agent is told at
// once, not when the grace period of 30 seconds is over.
func TestTabClosed(t *testing.T) {
	for _, transport := range []string{"websocket", "sse"} {
		t.Run(transport, func(t *testing.T) { testTabClosed(t, transport) })
	}
}

func testTabClosed(t *testing.T, transport string) {
	c := newChromium(t)
	h, out, _ := startHost(t, false)
	p := c.open(h.url() + "&transport=" + transport)
	p.until(`document.querySelector("#link").innerText.startsWith("connected")`)
	p.click("#run")
	p.until(`document.querySelector("#question").open`)
	from := time.Now()
	p.do("Page.close", map[string]any{}, nil)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Then there will be no star.") }, time.Minute, 10*time.Millisecond, out)
	assert.Less(t, time.Since(from), 20*time.Second)
	assert.Contains(t, out.String(), "failed: The call was cancelled: The page was closed")
	require.Eventually(t, func() bool { return len(h.hub.ClientTools(session)) == 0 }, time.Minute, 10*time.Millisecond)
}

// TestTabPutAside goes to another page and back while a question is open. Whether
// the browser keeps the page or throws it away, the agent gets its one answer.
func TestTabPutAside(t *testing.T) {
	c := newChromium(t)
	h, out, _ := startHost(t, false)
	p := c.open(h.url())
	p.until(`document.querySelector("#link").innerText.startsWith("connected")`)
	p.click("#run")
	p.until(`document.querySelector("#question").open`)
	p.goTo("about:blank")
	p.until(`location.href === "about:blank"`)
	_, err := p.eval("history.back()")
	require.NoError(t, err)
	p.until(`document.querySelector("#link")?.innerText.startsWith("connected")`)
	if kept, err := p.eval(`document.querySelector("#question").open`); err == nil && kept == true {
		p.typeText("5")
		p.press("Enter", 13)
		p.until(`document.querySelector("#transcript").innerText.includes("A star of 5 points")`)
		assert.Equal(t, 1, strings.Count(p.text("#calls"), "ask_number"))
		assert.NotContains(t, out.String(), "no star")
		t.Log("the page was kept")
		return
	}
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Then there will be no star.") }, time.Minute, 10*time.Millisecond, out)
}

// TestOnce is the mode in which the agent begins by itself. The user dismisses its
// question, which is an answer as well.
func TestOnce(t *testing.T) {
	c := newChromium(t)
	h, out, ended := startHost(t, true)
	p := c.open(h.url())
	p.until(`document.querySelector("#question").open`)
	p.press("Escape", 27)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.Fail(t, "it did not end", out)
	}
	assert.Contains(t, out.String(), "The user did not want to answer.")
	p.until(`document.querySelector("#link").dataset.state === "backoff"`)
}

// TestRefused is who has no key, or comes under another name or from another page.
func TestRefused(t *testing.T) {
	h, _, _ := startHost(t, false)
	base := "http://" + h.ln.Addr().String()
	get := func(method, path string, header ...string) int {
		r, err := http.NewRequest(method, base+path, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				r.Host = header[i+1]
			}
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.NotContains(t, string(b), h.key)
		return resp.StatusCode
	}
	for _, path := range []string{"/", "/app.js", "/calls.js", "/style.css", "/clienttool.js"} {
		assert.Equal(t, 200, get("GET", path), path)
		assert.Equal(t, 403, get("GET", path, "Host", "evil.example"), path)
	}
	key := "Bearer " + h.key
	for _, c := range [][2]string{{"GET", "/agent?from=0"}, {"POST", "/agent"}, {"POST", "/cut"}, {"POST", "/client-tools/ticket"}, {"GET", "/client-tools/ws/x"}, {"GET", "/client-tools/tools"}} {
		assert.Equal(t, 401, get(c[0], c[1]), c[1])
		assert.Equal(t, 401, get(c[0], c[1], "Authorization", "Bearer guess"), c[1])
		assert.Equal(t, 403, get(c[0], c[1], "Authorization", key, "Origin", "https://evil.example"), c[1])
		assert.Equal(t, 403, get(c[0], c[1], "Authorization", key, "Host", "evil.example"), c[1])
	}
	assert.Equal(t, 401, get("GET", "/client-tools/ws/x?ticket=guess", "Authorization", key))
	assert.Equal(t, 204, get("POST", "/cut", "Authorization", key))
	assert.Equal(t, 400, get("GET", "/agent?from=x", "Authorization", key))
	_, err := newHost("0.0.0.0:0", io.Discard)
	assert.ErrorContains(t, err, "loopback")

	// Tools can be bound to no session but the one.
	p := clienttool.Peer{Principal: "user"}
	_, err = h.hub.Handle(t.Context(), p, &clienttool.Message{Type: clienttool.TypeRegister, ClientID: "x", SessionID: "ses_other", Tools: []clienttool.ToolDefinition{{ID: "a"}}})
	assert.ErrorIs(t, err, clienttool.ErrRefused)
}
