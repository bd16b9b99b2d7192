package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// Limits of [Check]. A schema that people write is far below all of them.
const (
	maxSchemaBytes  = 256 << 10
	maxSchemaDepth  = 64     // nesting of the JSON text
	maxSchemaValues = 20_000 // JSON values in the text
	maxExpansion    = 10_000 // schemas applied to one and the same instance
	maxPatternBytes = 1024   // one regular expression
	maxPatternSize  = 2000   // instructions of one; matching takes size × length of the text
	maxPatternsSize = 20_000 // of all
	maxClasses      = 64     // Unicode classes (\p{L}) in all regular expressions
)

// Check is the guard for schemas from strangers. It refuses, with an error that
// matches [ErrHostile], what would hang or kill the process once it is used:
// references that lead back to themselves ({"$ref":"#"}), references that
// multiply, regular expressions of excessive size, and documents over 256 KiB,
// 64 levels or 20 000 values. Recursion through properties or items is fine. It
// needs a few milliseconds at most, fetches nothing and does not panic.
//
// A document that is not a JSON Schema at all matches [ErrUnsupported]. Passing
// Check does not mean that [Compile] succeeds, which applies it itself. Nothing
// at all passes, as Compile takes it for {"type":"object"}.
func Check(doc json.RawMessage) error {
	if blank(doc) {
		return nil
	}
	root, err := readSchema(doc)
	if err != nil {
		return err
	}
	d, err := open(root)
	if err != nil {
		return err
	}
	return d.guard()
}

// readSchema parses a schema document within the limits.
func readSchema(doc []byte) (*value, error) {
	if len(doc) > maxSchemaBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrHostile, len(doc), maxSchemaBytes)
	}
	root, err := parseLimited(string(doc), maxSchemaDepth, maxSchemaValues)
	var se *syntaxError
	switch {
	case errors.As(err, &se) && se.big:
		return nil, fmt.Errorf("%w: %v (limits: %d levels, %d values)", ErrHostile, err, maxSchemaDepth, maxSchemaValues)
	case err != nil:
		return nil, fmt.Errorf("%w: %v", ErrUnsupported, err)
	}
	return root, nil
}

// guard refuses a document that is dangerous to validate with.
func (d *document) guard() error {
	g := guard{d: d, cost: make([]int, len(d.sites))}
	for i := range d.sites {
		if _, err := g.expand(i); err != nil {
			return err
		}
	}
	return g.patterns()
}

type guard struct {
	d    *document
	cost []int // per site: 0 not known yet, -1 being found, else the number of schemas
}

// expand counts the schemas that applying site i to one instance leads to, the
// instance's parts left aside. It is a walk over just those edges that keep the
// instance; a cycle among them is a validator that never ends.
func (g *guard) expand(i int) (int, error) {
	at := g.d.sites[i]
	switch g.cost[i] {
	case 0:
	case -1:
		return 0, fmt.Errorf("%w: %s leads back to itself by references alone", ErrHostile, where(at.path))
	default:
		return g.cost[i], nil
	}
	g.cost[i] = -1
	n := 1
	add := func(sub *value) error {
		m, err := g.expand(g.d.at[sub])
		if err != nil {
			return err
		}
		if n += m; n > maxExpansion {
			return fmt.Errorf("%w: references below %s multiply to more than %d schemas for one value", ErrHostile, where(at.path), maxExpansion)
		}
		return nil
	}
	for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref := at.schema.get(name)
		if ref == nil || ref.kind != kString {
			continue
		}
		// A reference that leads nowhere is harmless: Compile refuses it.
		if target, err := g.d.resolve(ref.text); err == nil {
			if err := add(target); err != nil {
				return 0, err
			}
		}
	}
	err := subschemas(at.schema, func(name, _ string, sub *value) error {
		if !keywords[name].same {
			return nil
		}
		return add(sub)
	})
	if err != nil {
		return 0, err
	}
	g.cost[i] = n
	return n, nil
}

// patterns bounds the regular expressions without compiling them, since a
// compiler expands x{1000} a thousand times.
func (g *guard) patterns() error {
	total, classes := 0, 0
	check := func(path, expr string) error {
		if len(expr) > maxPatternBytes {
			return fmt.Errorf("%w: regular expression at %s has %d bytes, the limit is %d", ErrHostile, where(path), len(expr), maxPatternBytes)
		}
		if classes += strings.Count(expr, `\p`) + strings.Count(expr, `\P`); classes > maxClasses {
			return fmt.Errorf("%w: more than %d Unicode classes in regular expressions", ErrHostile, maxClasses)
		}
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			var se *syntax.Error
			if errors.As(err, &se) && (se.Code == syntax.ErrLarge || se.Code == syntax.ErrNestingDepth || se.Code == syntax.ErrInvalidRepeatSize) {
				return fmt.Errorf("%w: regular expression at %s: %v", ErrHostile, where(path), err)
			}
			return nil // Compile says so
		}
		n := patternSize(re)
		if total += n; n > maxPatternSize || total > maxPatternsSize {
			return fmt.Errorf("%w: regular expression at %s is too large (repeats count as often as they repeat)", ErrHostile, where(path))
		}
		return nil
	}
	for _, s := range g.d.sites {
		if p := s.schema.get("pattern"); p != nil && p.kind == kString {
			if err := check(s.path, p.text); err != nil {
				return err
			}
		}
		if p := s.schema.get("patternProperties"); p != nil {
			for _, m := range p.members {
				if err := check(s.path, m.key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// patternSize estimates the number of instructions that re compiles to.
func patternSize(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n = (n-1)*max(re.Min, re.Max, 1) + 1
	}
	return min(n, maxPatternsSize+1)
}
