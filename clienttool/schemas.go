package clienttool

import (
	"crypto/sha256"
	"sync"
	"weak"

	"github.com/agenttool/tool/schema"
)

// schemas shares what is compiled from the same text: ten thousand clients are often
// ten thousand copies of one program. It keeps nothing alive.
type schemas struct {
	mu    sync.Mutex
	m     map[[sha256.Size]byte]weak.Pointer[schema.Schema]
	purge int // size at which to look for those that are gone
}

func (s *schemas) compile(text []byte) (*schema.Schema, error) {
	key := sha256.Sum256(text)
	s.mu.Lock()
	have := s.m[key].Value()
	s.mu.Unlock()
	if have != nil {
		return have, nil
	}
	fresh, err := schema.Compile(text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.m[key].Value(); have != nil {
		return have, nil
	}
	if s.m == nil {
		s.m = make(map[[sha256.Size]byte]weak.Pointer[schema.Schema])
	}
	if len(s.m) >= s.purge {
		for k, p := range s.m {
			if p.Value() == nil {
				delete(s.m, k)
			}
		}
		s.purge = 2*len(s.m) + 64
	}
	s.m[key] = weak.Make(fresh)
	return fresh, nil
}
