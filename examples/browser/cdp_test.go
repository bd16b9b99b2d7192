package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// chromium is a browser that is driven over the DevTools protocol.
type chromium struct {
	t  *testing.T
	ws *websocket.Conn

	mu       sync.Mutex
	n        int
	waiting  map[int]chan cdpReply
	problems []string // exceptions and errors on the console
}

type cdpReply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newChromium starts a browser that ends with the test, or skips.
func newChromium(t *testing.T) *chromium {
	t.Helper()
	var bin string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			bin = path
			break
		}
	}
	if bin == "" {
		t.Skip("there is no chromium")
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }() // how it ends is not what is tested
	var c *chromium
	t.Cleanup(func() {
		if c != nil {
			go c.do("", "Browser.close", nil, nil) // takes its children with it
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
			}
			c.ws.CloseNow()
		}
		cmd.Process.Kill()
		<-ended
		// Its children write a moment longer, and the directory is to be removed.
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	var port []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if port, err = os.ReadFile(filepath.Join(dir, "DevToolsActivePort")); err == nil && bytes.Count(port, []byte("\n")) > 0 {
			break
		}
		select {
		case <-ended:
			t.Skipf("chromium does not run here: %.500s", stderr.String())
		default:
		}
		require.True(t, time.Now().Before(end), "chromium did not open its port")
	}
	where := strings.Split(strings.TrimSpace(string(port)), "\n")
	ws, _, err := websocket.Dial(t.Context(), "ws://127.0.0.1:"+where[0]+where[1], nil)
	require.NoError(t, err)
	ws.SetReadLimit(64 << 20)
	c = &chromium{t: t, ws: ws, waiting: make(map[int]chan cdpReply)}
	go c.read()
	return c
}

func (c *chromium) read() {
	for {
		_, b, err := c.ws.Read(context.Background())
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, ch := range c.waiting {
				ch <- cdpReply{Error: &struct{ Message string }{"the browser has gone"}}
			}
			c.waiting = nil
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			cdpReply
		}
		if json.Unmarshal(b, &m) != nil {
			continue
		}
		c.mu.Lock()
		switch {
		case m.ID != 0:
			if ch := c.waiting[m.ID]; ch != nil {
				ch <- m.cdpReply
			}
			delete(c.waiting, m.ID)
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded" && bytes.Contains(m.Params, []byte(`"level":"error"`)),
			m.Method == "Runtime.consoleAPICalled" && bytes.Contains(m.Params, []byte(`"type":"error"`)):
			c.problems = append(c.problems, string(m.Params))
		}
		c.mu.Unlock()
	}
}

func (c *chromium) do(session, method string, params, result any) error {
	ch := make(chan cdpReply, 1)
	c.mu.Lock()
	c.n++
	id := c.n
	if c.waiting != nil {
		c.waiting[id] = ch
	}
	c.mu.Unlock()
	b, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if err != nil {
		return err
	}
	if session == "" {
		b, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
		if err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, b); err != nil {
		return err
	}
	select {
	case r := <-ch:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if result != nil {
			return json.Unmarshal(r.Result, result)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer", method)
	}
}

// tab is one page of the browser.
type tab struct {
	c           *chromium
	id, session string
}

func (c *chromium) open(url string) *tab {
	c.t.Helper()
	var target struct{ TargetID string }
	require.NoError(c.t, c.do("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var attached struct{ SessionID string }
	require.NoError(c.t, c.do("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p := &tab{c, target.TargetID, attached.SessionID}
	for _, m := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Accessibility.enable"} {
		p.do(m, map[string]any{}, nil)
	}
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1320, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.goTo(url)
	return p
}

func (p *tab) do(method string, params, result any) {
	p.c.t.Helper()
	require.NoError(p.c.t, p.c.do(p.session, method, params, result))
}

func (p *tab) goTo(url string) {
	p.c.t.Helper()
	p.do("Page.navigate", map[string]any{"url": url}, nil)
}

// eval returns what an expression in the page is.
func (p *tab) eval(expr string) (any, error) {
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.c.do(p.session, "Runtime.evaluate", map[string]any{"expression": expr, "awaitPromise": true, "returnByValue": true}, &r)
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New(r.ExceptionDetails.Text + " " + r.ExceptionDetails.Exception.Description)
	}
	return r.Result.Value, err
}

// until waits for an expression in the page to be true.
func (p *tab) until(expr string) {
	p.c.t.Helper()
	var v any
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if v, err = p.eval(expr); v == true {
			return
		}
	}
	text, _ := p.eval("document.body.innerText")
	require.Failf(p.c.t, "it never came to pass", "%s: %v %v\n%v", expr, v, err, text)
}

func (p *tab) text(selector string) string {
	p.c.t.Helper()
	v, err := p.eval(fmt.Sprintf("document.querySelector(%q).innerText", selector))
	require.NoError(p.c.t, err)
	return v.(string)
}

func (p *tab) click(selector string) {
	p.c.t.Helper()
	var at struct{ X, Y float64 }
	v, err := p.eval(fmt.Sprintf("(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()", selector))
	require.NoError(p.c.t, err)
	xy := v.([]any)
	at.X, at.Y = xy[0].(float64), xy[1].(float64)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// typeText types into what has the focus.
func (p *tab) typeText(s string) { p.do("Input.insertText", map[string]any{"text": s}, nil) }

func (p *tab) press(key string, code int) {
	text := ""
	if key == "Enter" {
		text = "\r"
	}
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text}, nil)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
}

func (p *tab) screenshot() []byte {
	p.c.t.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(p.c.t, err)
	return b
}

// nameless returns the controls and pictures that have no name for who cannot see them.
func (p *tab) nameless() (roles []string) {
	var tree struct {
		Nodes []struct {
			Ignored bool
			Role    struct{ Value any }
			Name    struct{ Value any }
		}
	}
	p.do("Accessibility.getFullAXTree", map[string]any{}, &tree)
	for _, n := range tree.Nodes {
		switch n.Role.Value {
		case "button", "spinbutton", "image", "img", "list", "log", "dialog", "progressIndicator", "progressbar":
			if name, _ := n.Name.Value.(string); !n.Ignored && name == "" {
				roles = append(roles, n.Role.Value.(string))
			}
		}
	}
	return roles
}

func (c *chromium) trouble() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.problems...)
}
