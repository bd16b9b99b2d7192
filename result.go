package tool

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Result is what a tool gives back. Text is what the model reads; Title and
// Metadata are for the user's eyes and are not sent to the model.
type Result struct {
	Title       string // one line for a UI, e.g. "src/file.go"; "" becomes the tool's title or name
	Text        string
	Structured  json.RawMessage // fits Spec.Output; nil if there is none
	Attachments []Attachment
	Metadata    map[string]any
	IsError     bool        // the call failed; set by the executor, or by a tool that relays another system's failure
	EndTurn     bool        // the host should not go on with the turn by itself
	Truncated   *Truncation // non-nil: Text is bounded already
}

// Truncation says what was left out of a Result's Text. The zero value means nothing.
type Truncation struct {
	Bytes int    `json:"bytes"`          // omitted
	Lines int    `json:"lines"`          // omitted
	Path  string `json:"path,omitempty"` // where the full text is; "" if it was not kept
}

// Text returns a Result with the given text.
func Text(s string) *Result { return &Result{Text: s} }

// Textf returns a Result with the formatted text.
func Textf(format string, a ...any) *Result { return &Result{Text: fmt.Sprintf(format, a...)} }

// Attachment is a file that goes with a Result: an image, a PDF. Its JSON form is
// the file part {"id","sessionID","messageID","type":"file","mime","filename","url"}
// whose url is a data URL (RFC 2397) if Data is set. ID, SessionID and MessageID
// are filled in by the executor when they are empty.
type Attachment struct {
	ID        string
	SessionID string
	MessageID string
	Name      string // file name without directory
	MIME      string
	URL       string // http or https; ignored when Data is set
	Data      []byte
}

// DataURL returns the attachment's content as a data URL, or its URL if it has no Data.
func (a *Attachment) DataURL() string {
	if len(a.Data) == 0 && a.URL != "" {
		return a.URL
	}
	mime := a.MIME
	if mime == "" {
		mime = "application/octet-stream"
	}
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(a.Data)
}

type filePart struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
	Type      string `json:"type"`
	MIME      string `json:"mime"`
	Name      string `json:"filename,omitempty"`
	URL       string `json:"url"`
}

// MarshalJSON implements [json.Marshaler]. A URL that is not http, https or data is an error.
func (a Attachment) MarshalJSON() ([]byte, error) {
	url := a.DataURL()
	if err := checkURL(url); err != nil {
		return nil, err
	}
	return json.Marshal(filePart{a.ID, a.SessionID, a.MessageID, "file", a.MIME, a.Name, url})
}

// UnmarshalJSON implements [json.Unmarshaler]. A data URL becomes Data; http and
// https URLs are kept; everything else, paths above all, is refused, because the
// text may come from a stranger.
func (a *Attachment) UnmarshalJSON(b []byte) error {
	var p filePart
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if err := checkURL(p.URL); err != nil {
		return err
	}
	*a = Attachment{ID: p.ID, SessionID: p.SessionID, MessageID: p.MessageID, Name: p.Name, MIME: p.MIME}
	rest, ok := cutPrefixFold(p.URL, "data:")
	if !ok {
		a.URL = p.URL
		return nil
	}
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return errors.New("attachment: data URL without a comma")
	}
	mime, encoded := strings.CutSuffix(head, ";base64")
	if !encoded {
		return errors.New("attachment: data URL is not base64")
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return fmt.Errorf("attachment: data URL: %w", err)
	}
	a.Data = data
	if a.MIME == "" {
		a.MIME = mime
	}
	return nil
}

func checkURL(url string) error {
	for _, scheme := range []string{"data:", "https://", "http://"} {
		if _, ok := cutPrefixFold(url, scheme); ok {
			return nil
		}
	}
	return fmt.Errorf("attachment: url %q is neither data, http nor https", clip(url, 80))
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// AppendJSON appends the JSON form of r to dst: {"title","output","metadata",
// "attachments"} as other systems know them, then "structured", "isError",
// "endTurn" and "truncated" where they are set. HTML characters are not escaped.
// Title, output and metadata are always there; invalid UTF-8 becomes U+FFFD.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"title":`...)
	dst = appendString(dst, r.Title)
	dst = append(dst, `,"metadata":`...)
	if len(r.Metadata) == 0 {
		dst = append(dst, "{}"...)
	} else {
		b, err := json.Marshal(r.Metadata)
		if err != nil {
			return nil, fmt.Errorf("result metadata: %w", err)
		}
		dst = append(dst, b...)
	}
	dst = append(dst, `,"output":`...)
	dst = appendString(dst, r.Text)
	if len(r.Attachments) > 0 {
		b, err := json.Marshal(r.Attachments)
		if err != nil {
			return nil, err
		}
		dst = append(dst, `,"attachments":`...)
		dst = append(dst, b...)
	}
	if len(r.Structured) > 0 {
		if !json.Valid(r.Structured) {
			return nil, errors.New("result: Structured is not JSON")
		}
		dst = append(dst, `,"structured":`...)
		dst = append(dst, r.Structured...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	if r.EndTurn {
		dst = append(dst, `,"endTurn":true`...)
	}
	if t := r.Truncated; t != nil {
		b, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		dst = append(dst, `,"truncated":`...)
		dst = append(dst, b...)
	}
	return append(dst, '}'), nil
}

// MarshalJSON implements [json.Marshaler] with [Result.AppendJSON].
func (r *Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// UnmarshalJSON implements [json.Unmarshaler]; the reverse of MarshalJSON.
func (r *Result) UnmarshalJSON(b []byte) error {
	var w struct {
		Title       string          `json:"title"`
		Metadata    map[string]any  `json:"metadata"`
		Output      string          `json:"output"`
		Attachments []Attachment    `json:"attachments"`
		Structured  json.RawMessage `json:"structured"`
		IsError     bool            `json:"isError"`
		EndTurn     bool            `json:"endTurn"`
		Truncated   *Truncation     `json:"truncated"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*r = Result{w.Title, w.Output, w.Structured, w.Attachments, w.Metadata, w.IsError, w.EndTurn, w.Truncated}
	return nil
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Runs of plain text are copied whole.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
