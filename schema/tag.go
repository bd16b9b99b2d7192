package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fieldTags are the struct tags that become keywords, in the order in which
// they are written, with the types they are for.
var fieldTags = []struct {
	name string
	on   typeSet
	read func(text string, types typeSet) (*value, error)
}{
	{"enum", tString | tInteger | tNumber, readEnum},
	{"minimum", tInteger | tNumber, readNumber},
	{"maximum", tInteger | tNumber, readNumber},
	{"exclusiveMinimum", tInteger | tNumber, readNumber},
	{"exclusiveMaximum", tInteger | tNumber, readNumber},
	{"minLength", tString, readCount},
	{"maxLength", tString, readCount},
	{"pattern", tString, readPattern},
	{"format", tString, readWord},
	{"minItems", tArray, readCount},
	{"maxItems", tArray, readCount},
}

// description must not look like a setting, as in jsonschema-go, which keeps
// that form for later.
var looksLikeSetting = regexp.MustCompile(`^[^ \t\n]*=`)

// applyTags adds what the tags of a field say to its schema.
func applyTags(v *value, f *field) error {
	bad := func(tag, text string, err error) error {
		return fmt.Errorf("field %s: tag %s:%q: %w", f, tag, text, err)
	}
	if text, ok := f.tag.Lookup("jsonschema"); ok {
		switch {
		case text == "":
			return bad("jsonschema", text, errors.New("the description is empty"))
		case looksLikeSetting.MatchString(text):
			return bad("jsonschema", text, errors.New("a description does not begin with WORD="))
		}
		v.delete("description")
		at := min(1, len(v.members)) // after type or $ref
		v.members = slices.Insert(v.members, at, member{key: "description", val: stringValue(text)})
	}
	for _, tag := range fieldTags {
		text, ok := f.tag.Lookup(tag.name)
		if !ok {
			continue
		}
		target := v
		types := declared(target)
		for types == tArray && tag.on&tArray == 0 {
			items := target.get("items")
			if items == nil {
				break
			}
			target, types = items, declared(items)
		}
		if types != 0 && types&tag.on == 0 {
			return bad(tag.name, text, fmt.Errorf("is for %s, the field is %s", strings.Join(tag.on.names(), " or "), strings.Join(types.names(), " or ")))
		}
		val, err := tag.read(text, types)
		if err != nil {
			return bad(tag.name, text, err)
		}
		if old := target.get(tag.name); old != nil && old.kind == kNumber && looser(tag.name, val, old) {
			return bad(tag.name, text, fmt.Errorf("the type's own bound is %s", old.text))
		}
		target.set(tag.name, val)
	}
	for _, k := range [][2]string{{"minimum", "maximum"}, {"exclusiveMinimum", "exclusiveMaximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}} {
		for _, target := range []*value{v, v.get("items")} {
			if target == nil || target.get(k[0]) == nil || target.get(k[1]) == nil {
				continue
			}
			if low, high := target.get(k[0]).text, target.get(k[1]).text; parseDecimal(low).cmp(parseDecimal(high)) > 0 {
				return fmt.Errorf("field %s: tag %s:%q is above %s:%q", f, k[0], low, k[1], high)
			}
		}
	}
	if text, ok := f.tag.Lookup("default"); ok {
		val := stringValue(text)
		if declared(v) != tString {
			var err error
			if val, err = parse([]byte(text)); err != nil {
				return bad("default", text, err)
			}
		}
		v.set("default", val)
	}
	return nil
}

// declared returns the types that a schema names, 0 if it names none.
func declared(v *value) typeSet {
	if t := v.get("type"); t != nil {
		return typeNamed(t.text)
	}
	return 0
}

// looser reports whether a bound allows what the type's own bound does not.
func looser(tag string, val, old *value) bool {
	c := parseDecimal(val.text).cmp(parseDecimal(old.text))
	if strings.HasPrefix(tag, "min") {
		return c < 0
	}
	return c > 0
}

func readEnum(text string, types typeSet) (*value, error) {
	v := arrayValue()
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		e := stringValue(part)
		if types&(tInteger|tNumber) != 0 {
			if !isNumber(part) || types == tInteger && !integral(part) {
				return nil, fmt.Errorf("%q is not %s", part, types.names()[0])
			}
			e = numberValue(part)
		}
		switch {
		case part == "":
			return nil, errors.New("a value is empty")
		case slices.ContainsFunc(v.items, func(o *value) bool { return equal(o, e) }):
			return nil, fmt.Errorf("%q is there twice", part)
		}
		v.items = append(v.items, e)
	}
	return v, nil
}

func readNumber(text string, types typeSet) (*value, error) {
	switch {
	case !isNumber(text) || !finite(text):
		return nil, errors.New("not a number")
	case types == tInteger && !integral(text):
		return nil, errors.New("not an integer")
	}
	return numberValue(text), nil
}

func readCount(text string, _ typeSet) (*value, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return nil, errors.New("not a count")
	}
	return numberValue(strconv.FormatInt(n, 10)), nil
}

func readPattern(text string, _ typeSet) (*value, error) {
	if text == "" {
		return nil, errors.New("is empty")
	}
	if _, err := regexp.Compile(text); err != nil {
		return nil, err
	}
	return stringValue(text), nil
}

func readWord(text string, _ typeSet) (*value, error) {
	if text == "" {
		return nil, errors.New("is empty")
	}
	return stringValue(text), nil
}

// aliasesOf returns the other spellings of a field's key.
func aliasesOf(f *field) []string {
	text, ok := f.tag.Lookup("alias")
	if !ok {
		return nil
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// checkAliases refuses a key with two meanings.
func checkAliases(fields []field) error {
	owner := map[string]string{}
	for i := range fields {
		owner[fields[i].name] = fields[i].String()
	}
	for i := range fields {
		f := &fields[i]
		for _, name := range aliasesOf(f) {
			text := f.tag.Get("alias")
			if name == "" {
				return fmt.Errorf("field %s: tag alias:%q: a name is empty", f, text)
			}
			if other, ok := owner[name]; ok {
				return fmt.Errorf("field %s: tag alias:%q: %q already stands for %s", f, text, name, other)
			}
			owner[name] = f.String()
		}
	}
	return nil
}
