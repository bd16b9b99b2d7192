package clienttool

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/agenttool/tool"
)

// Namer gives a client's tool the id that models see. It must be a pure function
// of the pair, so that every node and every order of connecting agrees, and the
// id must pass [tool.CheckName]. Two pairs should not share an id; if they do, the
// tool that is registered second is refused.
type Namer interface {
	Name(clientID, toolName string) (id string, err error)
}

// DefaultNamer names a tool client_{clientID}_{tool} where that is legal and says
// unambiguously whose it is: the client id has no underscore. Otherwise the name
// is client__{hash of the client id}_{tool}, with the tool's name made legal and
// shortened in the middle, and marked with a hash of its own if it was changed.
// The two forms never meet, as a client id is not empty.
type DefaultNamer struct{}

// Name implements [Namer].
func (DefaultNamer) Name(clientID, toolName string) (string, error) {
	if err := checkPair(clientID, toolName); err != nil {
		return "", err
	}
	if !strings.Contains(clientID, "_") {
		if id := plainID(clientID, toolName); tool.CheckName(id) == nil {
			return id, nil
		}
	}
	return hashedID(clientID, toolName, 8), nil
}

// ShortNamer always uses the hashed form, with a hash of four characters, which
// costs a model fewer tokens than a long client id.
type ShortNamer struct{}

// Name implements [Namer].
func (ShortNamer) Name(clientID, toolName string) (string, error) {
	if err := checkPair(clientID, toolName); err != nil {
		return "", err
	}
	return hashedID(clientID, toolName, 4), nil
}

// plainID is the id as the oldest clients know it.
func plainID(clientID, toolName string) string { return "client_" + clientID + "_" + toolName }

const maxID = 64

func hashedID(clientID, toolName string, n int) string {
	head := "client__" + hash(clientID, n) + "_"
	t := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, toolName)
	room := maxID - len(head)
	// A name that ends like a mark gets one too, or it could be taken for the marked form of another.
	if t == toolName && len(t) <= room && !looksMarked(t) {
		return head + t
	}
	mark := "-" + hash(toolName, 6)
	room -= len(mark)
	if len(t) > room {
		front := (room + 1) / 2
		t = t[:front] + t[len(t)-(room-front):]
	}
	return head + t + mark
}

// looksMarked reports whether t ends in a hyphen and six characters of base32.
func looksMarked(t string) bool {
	if len(t) < 7 || t[len(t)-7] != '-' {
		return false
	}
	return strings.Trim(t[len(t)-6:], "abcdefghijklmnopqrstuvwxyz234567") == ""
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return lowerBase32.EncodeToString(sum[:])[:n]
}

const (
	maxClientID = 128
	maxToolName = 512
)

func checkPair(clientID, toolName string) error {
	if err := CheckClientID(clientID); err != nil {
		return err
	}
	if toolName == "" {
		return errors.New("a tool needs a name")
	}
	if len(toolName) > maxToolName {
		return errors.New("the tool's name is longer than 512 bytes")
	}
	return nil
}

// CheckClientID reports whether id can be a client's: one to 128 letters, digits
// and . _ : - of ASCII.
func CheckClientID(id string) error {
	if id == "" {
		return errors.New("client id is empty")
	}
	if len(id) > maxClientID {
		return errors.New("client id is longer than 128 characters")
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return errors.New("client id has characters other than letters, digits, and . _ : -")
		}
	}
	return nil
}
