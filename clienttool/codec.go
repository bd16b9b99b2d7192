package clienttool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// DecodeLimits bounds what [DecodeMessage] takes.
type DecodeLimits struct {
	MaxBytes int // of a whole message; 0: 4 MiB and 64 KiB for the envelope; <0: no limit
	MaxList  int // entries of any list; 0: 4096
}

const (
	envelope        = 64 << 10
	defaultMaxFrame = 4<<20 + envelope
	defaultMaxList  = 4096
)

// ErrMessage is matched by every error of [DecodeMessage] except [ErrTooLarge]:
// the bytes are not a message.
var ErrMessage = errors.New("not a message")

// ErrTooLarge says that a message is larger than its carrier or receiver takes.
var ErrTooLarge = errors.New("message too large")

// EncodeMessage appends the JSON form of m to dst. It has no line ends, and text
// stays as it is: HTML characters are not escaped.
func EncodeMessage(dst []byte, m *Message) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return dst, fmt.Errorf("message %s: %w", m.Type, err)
	}
	b := buf.Bytes()
	return b[:len(b)-1], nil
}

// flat is the form of a result whose fields are beside its request id.
type flat struct {
	Status      string          `json:"status"`
	Title       string          `json:"title"`
	Output      string          `json:"output"`
	Metadata    json.RawMessage `json:"metadata"`
	Attachments []FilePart      `json:"attachments"`
}

// DecodeMessage reads a message of either direction. Two older forms are taken
// too: a bare ExecutionRequest ("type":"client-tool-request") becomes a request,
// and a result whose status stands beside its request id, with "type" absent or
// "client-tool-response", becomes a result. A key that appears twice where it
// decides anything (type, requestID), invalid UTF-8, and text after the message
// are errors. Unknown keys are ignored.
//
// The error matches [ErrTooLarge] or [ErrMessage].
func DecodeMessage(b []byte, l DecodeLimits) (*Message, error) {
	limit := l.MaxBytes
	if limit == 0 {
		limit = defaultMaxFrame
	}
	if limit > 0 && len(b) > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, len(b), limit)
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrMessage)
	}
	if err := unique(b); err != nil {
		return nil, err
	}
	m := new(Message)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	switch {
	case m.Type == TypeToolRequest:
		r := new(ExecutionRequest)
		if err := json.Unmarshal(b, r); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMessage, err)
		}
		m = &Message{Type: TypeRequest, Seq: m.Seq, Request: r}
	case m.Type == typeToolResponse, m.Type == TypeResult, m.Type == "" && m.RequestID != "":
		m.Type = TypeResult
		if m.Result == nil {
			var f flat
			if err := json.Unmarshal(b, &f); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrMessage, err)
			}
			m.Result = &ToolResponse{Status: f.Status, Title: f.Title, Output: f.Output, Metadata: f.Metadata,
				Attachments: f.Attachments, Error: m.Error, Code: m.Code}
			m.Error, m.Code = "", ""
		}
	case m.Type == "":
		return nil, fmt.Errorf("%w: no type", ErrMessage)
	}
	if err := m.bounded(l); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Message) bounded(l DecodeLimits) error {
	most := l.MaxList
	if most == 0 {
		most = defaultMaxList
	}
	longest := max(len(m.Tools), len(m.ToolIDs), len(m.RequestIDs), len(m.Live), len(m.Names), len(m.Rejected))
	if h := m.Hello; h != nil {
		longest = max(longest, len(h.Tools), len(h.Live), len(h.Capabilities))
	}
	if r := m.Result; r != nil {
		longest = max(longest, len(r.Attachments))
	}
	if a := m.Ask; a != nil {
		longest = max(longest, len(a.Patterns), len(a.Always), len(a.Metadata))
	}
	if longest > most {
		return fmt.Errorf("%w: a list of %d entries, at most %d are taken", ErrTooLarge, longest, most)
	}
	return nil
}

// unique refuses an object in which type or requestID is said twice: readers
// differ in which one they take, and an answer must not be about two calls.
// Keys are compared without regard to case, as encoding/json does.
func unique(b []byte) error {
	var types, ids int
	depth, inKey := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '{', '[':
			depth++
			inKey = depth == 1 && c == '{'
		case '}', ']':
			depth--
		case ',':
			inKey = depth == 1
		case ':':
			inKey = false
		case '"':
			start := i + 1
			escaped := false
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					escaped = true
					i++
				}
			}
			if !inKey || i >= len(b) {
				continue
			}
			key := b[start:i]
			if escaped {
				var s string
				if json.Unmarshal(b[start-1:i+1], &s) == nil {
					key = []byte(s)
				}
			}
			if bytes.EqualFold(key, []byte("type")) {
				types++
			} else if bytes.EqualFold(key, []byte("requestID")) {
				ids++
			}
		}
	}
	if types > 1 || ids > 1 {
		return fmt.Errorf("%w: type or requestID is there twice", ErrMessage)
	}
	return nil
}
