package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// judge decides what is valid. It is jsonschema-go and nothing else; the rest of
// this package finds words, repairs, and is quick where the answer is certain.
type judge struct {
	doc   *document
	root  *rule
	risky bool // see affordable

	once     sync.Once
	resolved *jsonschema.Resolved
	err      error
	floats   bool // compare integers as floats, since the schema has them beyond 2^53
}

// load makes the validator, once. It takes several times as long as everything
// else about a schema, so it waits for the first input that is in doubt.
func (j *judge) load() error {
	j.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				j.err = fmt.Errorf("%w: %v", ErrUnsupported, p)
			}
		}()
		var s jsonschema.Schema
		if err := json.Unmarshal(j.doc.bare(), &s); err != nil {
			j.err = fmt.Errorf("%w: %v", ErrUnsupported, err)
			return
		}
		if j.resolved, j.err = s.Resolve(nil); j.err != nil {
			j.err = fmt.Errorf("%w: %v", ErrUnsupported, j.err)
		}
		for _, at := range j.doc.sites {
			for _, name := range []string{"enum", "const"} {
				if v := at.schema.get(name); v != nil {
					j.floats = j.floats || hasBigInt(v)
				}
			}
		}
	})
	return j.err
}

// hasBigInt reports whether v has an integer that a float64 may not hold.
func hasBigInt(v *value) bool {
	if v.kind == kNumber {
		return len(v.text) > 15
	}
	for _, e := range v.items {
		if hasBigInt(e) {
			return true
		}
	}
	for _, m := range v.members {
		if hasBigInt(m.val) {
			return true
		}
	}
	return false
}

var errTooMuch = errors.New("the input takes too long to check: too many alternatives nested in each other")

// verdict returns nil if v is valid, and the reason if not.
func (j *judge) verdict(v *value) (reason error, err error) {
	if err := j.load(); err != nil {
		return nil, err
	}
	instance, ok := j.toAny(v)
	if !ok {
		return errors.New("a number is out of range"), nil
	}
	if j.risky && !affordable(j.root, v) {
		return errTooMuch, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("schema: validator failed: %v", p)
		}
	}()
	return j.resolved.Validate(instance), nil
}

// toAny converts v to what jsonschema-go takes. Integers go as integers, so that
// none is rounded. It reports false for a number that a float64 cannot hold.
func (j *judge) toAny(v *value) (any, bool) {
	switch v.kind {
	case kNull:
		return nil, true
	case kBool:
		return v.text == "true", true
	case kString:
		return v.text, true
	case kArray:
		list := make([]any, len(v.items))
		for i, e := range v.items {
			var ok bool
			if list[i], ok = j.toAny(e); !ok {
				return nil, false
			}
		}
		return list, true
	case kObject:
		m := make(map[string]any, len(v.members))
		for _, e := range v.members {
			x, ok := j.toAny(e.val)
			if !ok {
				return nil, false
			}
			m[e.key] = x
		}
		return m, true
	}
	if !j.floats {
		lit := v.text
		if !plainInt(lit) {
			if d := parseDecimal(lit); d.isInt() && len(d.digits)+d.exp <= 20 {
				lit = d.String()
			}
		}
		if i, err := strconv.ParseInt(lit, 10, 64); err == nil {
			return i, true
		}
		if u, err := strconv.ParseUint(lit, 10, 64); err == nil {
			return u, true
		}
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// affordable reports whether validating v against r ends in reasonable time. A
// schema with alternatives that refer back to it can make a validator try
// exponentially many combinations; counting them with a memory is quick.
func affordable(r *rule, v *value) bool {
	c := costs{limit: 1<<18 + 64*v.size(), known: map[pair]int{}}
	return c.of(r, v) <= c.limit
}

type pair struct {
	r *rule
	v *value
}

type costs struct {
	limit int
	known map[pair]int
}

// of counts the schemas applied when v is validated against r, up to the limit.
func (c *costs) of(r *rule, v *value) int {
	key := pair{r, v}
	if n, ok := c.known[key]; ok {
		return n
	}
	if len(c.known) > c.limit {
		return c.limit + 1
	}
	n := 1 + len(r.enum)/16
	add := func(sub *rule, v *value) {
		if sub != nil && n <= c.limit {
			n += c.of(sub, v)
		}
	}
	for _, list := range [][]*rule{{r.ref, r.not, r.cond, r.then, r.els}, r.allOf, r.anyOf, r.oneOf} {
		for _, sub := range list {
			add(sub, v)
		}
	}
	for i, e := range v.items {
		if i < len(r.prefix) {
			add(r.prefix[i], e)
		} else {
			add(r.items, e)
		}
		add(r.contains, e)
		add(r.unevaluatedItems, e)
	}
	for _, need := range r.needs {
		if v.kind == kObject {
			add(need.rule, v)
		}
	}
	for _, m := range v.members {
		var room few
		for _, sub := range r.applied(m.key, room[:0]) {
			add(sub, m.val)
		}
		n += len(r.patterns)
		add(r.unevaluatedProps, m.val)
	}
	n = min(n, c.limit+1)
	c.known[key] = n
	return n
}
