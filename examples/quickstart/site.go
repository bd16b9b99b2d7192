package main

import (
	"io"
	"net"
	"net/http"
)

// page is what the project's site says about medians.
const page = `<!doctype html>
<html><head><title>Medians</title><script>track()</script></head><body>
<nav><a href="/">Home</a></nav>
<main>
<h1>Medians</h1>
<p>The <b>median</b> is the value in the middle.</p>
<table>
<tr><th>values</th><th>median</th></tr>
<tr><td>odd</td><td>the one in the middle</td></tr>
<tr><td>even</td><td>the mean of the two in the middle</td></tr>
</table>
</main>
</body></html>`

// serve stands in for the web: it serves the page on this machine until stop is called.
func serve() (origin string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // until it is closed
	}()
	return "http://" + l.Addr().String(), func() { _ = srv.Close(); <-done }, nil
}
