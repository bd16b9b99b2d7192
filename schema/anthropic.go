package schema

import (
	"encoding/json"
	"regexp"
	"slices"
)

// Anthropic converts a schema to what Anthropic accepts as the input_schema of a
// tool: JSON Schema 2020-12 with a plain object at the root, as in every dialect:
// see [OpenAIStrict]. Properties whose names the API refuses are dropped.
//
// Losses, stability and documents that were not checked are as for [OpenAIStrict].
func Anthropic(doc json.RawMessage) (json.RawMessage, []Loss) {
	return convert(doc, func(c *converter, root *value) *value {
		defs := root.get("$defs")
		out := c.rootUnion(root)
		if t := typesIn(out.get("type")); t != tObject {
			if t != 0 {
				c.lose(root, "type", "becomes object, as the root must be")
			}
			out.delete("type")
			out.members = slices.Insert(out.members, 0, member{key: "type", val: stringValue("object")})
		}
		if p := out.get("properties"); p == nil {
			out.set("properties", objectValue())
		} else {
			c.nameable(root, out, p)
		}
		out.delete("$defs")
		if defs != nil && len(defs.members) > 0 {
			out.set("$defs", defs)
		}
		return out
	})
}

var anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// nameable drops the properties whose names the API refuses.
func (c *converter) nameable(root, out, p *value) {
	var gone []string
	kept := objectValue()
	for _, m := range p.members {
		if anthropicName.MatchString(m.key) {
			kept.members = append(kept.members, m)
			continue
		}
		gone = append(gone, m.key)
		c.lose(root, "properties", "the name "+quote(clip(m.key, 80))+" is not possible, dropped")
	}
	if gone == nil {
		return
	}
	out.set("properties", kept)
	if r := out.get("required"); r != nil {
		names := arrayValue()
		for _, n := range r.items {
			if !slices.Contains(gone, n.text) {
				names.items = append(names.items, n)
			}
		}
		out.set("required", names)
	}
}
