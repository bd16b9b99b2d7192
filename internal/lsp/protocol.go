package lsp

import (
	"bytes"
	"encoding/json"
)

// The parts of the protocol that are used, as they are on the wire.

type wirePosition struct {
	Line      int64 `json:"line"`
	Character int64 `json:"character"`
}

type wireRange struct {
	Start wirePosition `json:"start"`
	End   wirePosition `json:"end"`
}

type wireLocation struct {
	URI   string    `json:"uri"`
	Range wireRange `json:"range"`

	// Of a LocationLink.
	TargetURI            string     `json:"targetUri,omitempty"`
	TargetSelectionRange *wireRange `json:"targetSelectionRange,omitempty"`
}

// locations are a Location, a list of them, or a list of LocationLinks.
type locations []wireLocation

func (l *locations) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '{' {
		b = append(append([]byte{'['}, b...), ']')
	}
	var list []wireLocation
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for i := range list {
		if e := &list[i]; e.URI == "" && e.TargetURI != "" {
			e.URI = e.TargetURI
			if e.TargetSelectionRange != nil {
				e.Range = *e.TargetSelectionRange
			}
		}
	}
	*l = list
	return nil
}

type textDocumentID struct {
	URI     string `json:"uri"`
	Version *int64 `json:"version,omitempty"`
}

type textDocumentItem struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    int64  `json:"version"`
	Text       string `json:"text"`
}

type positionParams struct {
	TextDocument textDocumentID `json:"textDocument"`
	Position     wirePosition   `json:"position"`
}

type wireDiagnostic struct {
	Range    wireRange       `json:"range"`
	Severity int             `json:"severity,omitempty"`
	Code     json.RawMessage `json:"code,omitempty"`
	Source   string          `json:"source,omitempty"`
	Message  string          `json:"message"`
	Data     json.RawMessage `json:"data,omitempty"`
}

type publishDiagnostics struct {
	URI         string           `json:"uri"`
	Version     *int64           `json:"version"`
	Diagnostics []wireDiagnostic `json:"diagnostics"`
}

type diagnosticReport struct {
	Kind             string                      `json:"kind"` // "full" or "unchanged"
	ResultID         string                      `json:"resultId"`
	Items            []wireDiagnostic            `json:"items"`
	RelatedDocuments map[string]diagnosticReport `json:"relatedDocuments"`
}

// documentSymbol is a DocumentSymbol or a SymbolInformation.
type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail"`
	Kind           int              `json:"kind"`
	Range          wireRange        `json:"range"`
	SelectionRange wireRange        `json:"selectionRange"`
	Children       []documentSymbol `json:"children"`

	Location      *wireLocation `json:"location"`
	ContainerName string        `json:"containerName"`
}

type callItem struct {
	Name           string          `json:"name"`
	Kind           int             `json:"kind"`
	Tags           json.RawMessage `json:"tags,omitempty"`
	Detail         string          `json:"detail,omitempty"`
	URI            string          `json:"uri"`
	Range          wireRange       `json:"range"`
	SelectionRange wireRange       `json:"selectionRange"`
	Data           json.RawMessage `json:"data,omitempty"`
}

type incomingCall struct {
	From       callItem    `json:"from"`
	FromRanges []wireRange `json:"fromRanges"`
}

type outgoingCall struct {
	To         callItem    `json:"to"`
	FromRanges []wireRange `json:"fromRanges"`
}

type wireEdit struct {
	Range   wireRange `json:"range"`
	NewText string    `json:"newText"`
}

// documentChange is a TextDocumentEdit, or the creation, renaming or deletion of
// a file.
type documentChange struct {
	Kind         string          `json:"kind"` // "" for a TextDocumentEdit
	TextDocument *textDocumentID `json:"textDocument"`
	Edits        []wireEdit      `json:"edits"`
	URI          string          `json:"uri"`
	OldURI       string          `json:"oldUri"`
	NewURI       string          `json:"newUri"`
	Options      *fileOptions    `json:"options"`
}

type fileOptions struct {
	Overwrite         bool `json:"overwrite"`
	IgnoreIfExists    bool `json:"ignoreIfExists"`
	IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
	Recursive         bool `json:"recursive"`
}

type workspaceEdit struct {
	Changes         map[string][]wireEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
}

// codeAction is a CodeAction, or a Command, whose command is then a string.
type codeAction struct {
	Title       string          `json:"title"`
	Kind        string          `json:"kind,omitempty"`
	IsPreferred bool            `json:"isPreferred,omitempty"`
	Disabled    *disabledReason `json:"disabled,omitempty"`
	Edit        *workspaceEdit  `json:"edit,omitempty"`
	Command     json.RawMessage `json:"command,omitempty"`
}

type disabledReason struct {
	Reason string `json:"reason"`
}

// hoverContents are a MarkupContent, a MarkedString, or a list of those.
type hoverContents string

func (h *hoverContents) UnmarshalJSON(b []byte) error {
	text, err := markup(b)
	*h = hoverContents(text)
	return err
}

func markup(b []byte) (string, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return "", nil
	}
	switch b[0] {
	case '"':
		var s string
		err := json.Unmarshal(b, &s)
		return s, err
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(b, &list); err != nil {
			return "", err
		}
		var out string
		for _, e := range list {
			text, err := markup(e)
			if err != nil {
				return "", err
			}
			if text != "" && out != "" {
				out += "\n\n"
			}
			out += text
		}
		return out, nil
	}
	var m struct {
		Kind     string `json:"kind"`
		Language string `json:"language"`
		Value    string `json:"value"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return "", err
	}
	if m.Kind == "" && m.Language != "" {
		return "```" + m.Language + "\n" + m.Value + "\n```", nil
	}
	return m.Value, nil
}

// serverCapabilities are what a server says that it can do. Where it may say so
// with true or with options, both are taken.
type serverCapabilities struct {
	PositionEncoding        string    `json:"positionEncoding"`
	TextDocumentSync        syncKind  `json:"textDocumentSync"`
	HoverProvider           provider  `json:"hoverProvider"`
	DefinitionProvider      provider  `json:"definitionProvider"`
	ReferencesProvider      provider  `json:"referencesProvider"`
	ImplementationProvider  provider  `json:"implementationProvider"`
	DocumentSymbolProvider  provider  `json:"documentSymbolProvider"`
	WorkspaceSymbolProvider provider  `json:"workspaceSymbolProvider"`
	CallHierarchyProvider   provider  `json:"callHierarchyProvider"`
	RenameProvider          provider  `json:"renameProvider"`
	CodeActionProvider      provider  `json:"codeActionProvider"`
	DiagnosticProvider      *struct{} `json:"diagnosticProvider"`
}

// provider is a capability: true, or options.
type provider struct {
	On      bool
	Prepare bool // prepareProvider of renaming
	Resolve bool // resolveProvider of code actions
}

func (p *provider) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case bytes.Equal(b, []byte("true")):
		p.On = true
	case len(b) > 0 && b[0] == '{':
		p.On = true
		var o struct {
			Prepare bool `json:"prepareProvider"`
			Resolve bool `json:"resolveProvider"`
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		p.Prepare, p.Resolve = o.Prepare, o.Resolve
	}
	return nil
}

// syncKind is how a server wants to hear of changes to documents.
type syncKind struct {
	Change   int // 0 not at all, 1 the full text, 2 what changed
	Save     bool
	SaveText bool
}

func (k *syncKind) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, &k.Change)
	}
	var o struct {
		Change int             `json:"change"`
		Save   json.RawMessage `json:"save"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	k.Change = o.Change
	switch s := bytes.TrimSpace(o.Save); {
	case bytes.Equal(s, []byte("true")):
		k.Save = true
	case len(s) > 0 && s[0] == '{':
		k.Save = true
		var so struct {
			IncludeText bool `json:"includeText"`
		}
		if err := json.Unmarshal(s, &so); err != nil {
			return err
		}
		k.SaveText = so.IncludeText
	}
	return nil
}

// clientCapabilities are what a server is told that the client can do.
func clientCapabilities() map[string]any {
	type m = map[string]any
	no := m{"dynamicRegistration": false}
	return m{
		"general": m{"positionEncodings": []Encoding{UTF16, UTF8, UTF32}},
		"window":  m{"workDoneProgress": true, "showDocument": m{"support": false}},
		"workspace": m{
			"applyEdit": true, "configuration": true, "workspaceFolders": true,
			"didChangeWatchedFiles": m{"dynamicRegistration": true},
			"symbol":                no,
			"workspaceEdit": m{
				"documentChanges": true, "resourceOperations": []string{"create", "rename", "delete"},
				"failureHandling": "abort", "normalizesLineEndings": true,
			},
		},
		"textDocument": m{
			"synchronization":    m{"didSave": true},
			"publishDiagnostics": m{"versionSupport": true},
			"diagnostic":         m{"relatedDocumentSupport": true},
			"hover":              m{"contentFormat": []string{"markdown", "plaintext"}},
			"definition":         m{"linkSupport": true},
			"implementation":     m{"linkSupport": true},
			"references":         no,
			"documentSymbol":     m{"hierarchicalDocumentSymbolSupport": true},
			"callHierarchy":      no,
			"rename":             m{"prepareSupport": true},
			"codeAction": m{
				"codeActionLiteralSupport": m{"codeActionKind": m{"valueSet": []string{
					"", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll",
				}}},
				"isPreferredSupport": true, "disabledSupport": true, "dataSupport": true,
				"resolveSupport": m{"properties": []string{"edit"}},
			},
		},
	}
}
