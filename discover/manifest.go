package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenttool/tool"
)

const (
	maxManifest    = 1 << 20 // bytes
	maxDescription = 8 << 10 // bytes
	maxWords       = 100     // of a command
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 10 * time.Minute
)

// manifest is what a file says about a tool.
type manifest struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
	Command     []string        `json:"command"`
	Timeout     int64           `json:"timeout"` // milliseconds
	Output      string          `json:"output"`
	Parallel    bool            `json:"parallel"`
	Hints       tool.Hints      `json:"hints"`
}

// parseManifest reads a manifest; name is that of its file.
func parseManifest(data []byte, name string) (*manifest, error) {
	m := &manifest{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	if m.Name == "" {
		m.Name = name
	}
	if err := tool.CheckName(m.Name); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(m.Description) == "" || !utf8.ValidString(m.Description):
		return nil, errors.New("it has no description")
	case len(m.Description) > maxDescription:
		return nil, fmt.Errorf("its description has more than %d bytes", maxDescription)
	case len(m.Command) == 0 || m.Command[0] == "":
		return nil, errors.New("it has no command")
	case len(m.Command) > maxWords:
		return nil, fmt.Errorf("its command has more than %d words", maxWords)
	case m.Timeout < 0 || time.Duration(m.Timeout) > maxTimeout/time.Millisecond:
		return nil, fmt.Errorf("its timeout is not between 0 and %d ms", maxTimeout/time.Millisecond)
	case m.Output != "" && m.Output != "text" && m.Output != "result":
		return nil, fmt.Errorf(`its output is %q, neither "text" nor "result"`, m.Output)
	}
	for _, w := range m.Command {
		if strings.ContainsRune(w, 0) {
			return nil, errors.New("a word of its command has a NUL in it")
		}
	}
	if len(m.Input) == 0 {
		m.Input = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	return m, nil
}

func (m *manifest) limit() time.Duration {
	if m.Timeout == 0 {
		return defaultTimeout
	}
	return time.Duration(m.Timeout) * time.Millisecond
}

// reply is what a program with "output": "result" writes.
type reply struct {
	Title       string         `json:"title"`
	Output      string         `json:"output"`
	Metadata    map[string]any `json:"metadata"`
	Error       string         `json:"error"`
	Attachments []struct {
		MIME     string `json:"mime"`
		Filename string `json:"filename"`
		Data     []byte `json:"data"`
	} `json:"attachments"`
}

// result makes the Result of what a program wrote.
func (m *manifest) result(out []byte) (*tool.Result, error) {
	if m.Output != "result" {
		return tool.Text(strings.ToValidUTF8(string(out), "\uFFFD")), nil
	}
	var r reply
	if err := json.Unmarshal(out, &r); err != nil {
		return tool.Text(strings.ToValidUTF8(string(out), "\uFFFD")), fmt.Errorf("%s wrote something else than a result: %w", m.Name, err)
	}
	delete(r.Metadata, "truncated") // that is not for a program to say
	res := &tool.Result{Title: r.Title, Text: r.Output, Metadata: r.Metadata}
	for _, a := range r.Attachments {
		res.Attachments = append(res.Attachments, tool.Attachment{Name: a.Filename, MIME: a.MIME, Data: a.Data})
	}
	if r.Error != "" {
		return res, errors.New(r.Error)
	}
	return res, nil
}
