package builtin

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agenttool/tool/internal/web"
)

// page is what a fetch gave, as it is remembered. It is not changed once it is.
type page struct {
	resp   *web.Response
	at     time.Time // when it was fetched, or found unchanged
	asked  []web.Hop // what was asked beyond the first question
	local  bool      // from the user's own machines
	cached bool      // it comes from memory
}

// says reports whether the server wants the page treated in a way: "no-store" ….
func (p *page) says(directive string) bool {
	for part := range strings.SplitSeq(strings.Join(p.resp.Header.Values("Cache-Control"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(part), directive) {
			return true
		}
	}
	return false
}

// fresh reports whether the page need not be fetched again. A server can make the
// time shorter.
func (p *page) fresh(limit time.Duration) bool {
	if p.local || p.says("no-cache") {
		return false
	}
	for part := range strings.SplitSeq(strings.Join(p.resp.Header.Values("Cache-Control"), ","), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seconds, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil && strings.EqualFold(key, "max-age") && seconds >= 0 {
			limit = min(limit, time.Duration(min(seconds, 1e6))*time.Second)
		}
	}
	return time.Since(p.at) < limit
}

// validators are the headers that ask whether the page has changed; nil if there
// is nothing to compare.
func (p *page) validators() http.Header {
	h := http.Header{}
	if tag := p.resp.Header.Get("ETag"); tag != "" {
		h.Set("If-None-Match", tag)
	}
	if at := p.resp.Header.Get("Last-Modified"); at != "" {
		h.Set("If-Modified-Since", at)
	}
	if len(h) == 0 || len(p.resp.Hops) > 1 {
		return nil
	}
	return h
}

// Bounds of what is remembered.
const (
	maxCachedPages = 64
	maxCachedBytes = 64 << 20
)

// webCache remembers pages, the last used ones, each for one session. The zero
// value is empty.
type webCache struct {
	mu    sync.Mutex
	pages []cachedPage // the last used at the end
	bytes int
}

type cachedPage struct {
	key  string
	page *page
}

func (c *webCache) get(key string, limit time.Duration) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.pages {
		if p.key != key {
			continue
		}
		c.pages = append(append(c.pages[:i:i], c.pages[i+1:]...), p)
		if time.Since(p.page.at) >= limit && p.page.validators() == nil {
			return nil
		}
		return p.page
	}
	return nil
}

func (c *webCache) put(key string, p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.pages {
		if c.pages[i].key == key {
			c.remove(i)
			break
		}
	}
	c.pages = append(c.pages, cachedPage{key, p})
	c.bytes += len(p.resp.Body)
	for len(c.pages) > maxCachedPages || c.bytes > maxCachedBytes {
		c.remove(0)
	}
}

func (c *webCache) remove(i int) {
	c.bytes -= len(c.pages[i].page.resp.Body)
	c.pages = append(c.pages[:i:i], c.pages[i+1:]...)
}
