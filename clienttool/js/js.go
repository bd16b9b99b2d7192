// Package js holds the client of package clienttool for browsers and Node: one ES
// module without dependencies, clienttool.js. A Go host can serve it to its own
// pages with [Handler]; other programs take the file, or this directory as an npm
// package. README.md says how it is used.
package js

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed clienttool.js
var module string

// Source returns the text of the module.
func Source() string { return module }

// Handler serves the module, whatever the path. Browsers may keep it, but ask each
// time whether it has changed.
func Handler() http.Handler {
	sum := sha256.Sum256([]byte(module))
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(module)))
	})
}
