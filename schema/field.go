package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a struct field as encoding/json sees it.
type field struct {
	name     string // key in JSON
	index    []int
	typ      reflect.Type
	tag      reflect.StructTag
	owner    reflect.Type // the struct that declares it
	goName   string
	tagged   bool // the name comes from the tag
	optional bool // omitempty, omitzero or a pointer
	quoted   bool // the option string
	pointed  bool // of an embedded struct that is reached through a pointer
}

// String names the field for the author of the struct.
func (f *field) String() string { return f.owner.String() + "." + f.goName }

// jsonFields returns the fields of a struct that encoding/json fills, in the
// order of declaration, those of embedded structs in the place of the embedding.
// The rules for which of several fields with one name wins are its too.
func jsonFields(t reflect.Type) []field {
	type embedded struct {
		typ     reflect.Type
		index   []int
		pointed bool // reached through a pointer
	}
	var all []field
	next := []embedded{{typ: t}}
	visited := map[reflect.Type]bool{}
	var count, nextCount map[reflect.Type]int
	for len(next) > 0 {
		current := next
		next = nil
		count, nextCount = nextCount, map[reflect.Type]int{}
		for _, e := range current {
			if visited[e.typ] {
				continue
			}
			visited[e.typ] = true
			for i := range e.typ.NumField() {
				sf := e.typ.Field(i)
				base := sf.Type
				if base.Kind() == reflect.Pointer {
					base = base.Elem()
				}
				if !sf.IsExported() && (!sf.Anonymous || base.Kind() != reflect.Struct) {
					continue
				}
				tag := sf.Tag.Get("json")
				if tag == "-" {
					continue
				}
				name, rest, _ := strings.Cut(tag, ",")
				if !validName(name) {
					name = ""
				}
				options := strings.Split(rest, ",")
				index := append(slices.Clone(e.index), i)
				if name == "" && sf.Anonymous && base.Kind() == reflect.Struct {
					if nextCount[base]++; nextCount[base] == 1 {
						next = append(next, embedded{base, index, e.pointed || sf.Type.Kind() == reflect.Pointer})
					}
					continue
				}
				f := field{
					name: cmp.Or(name, sf.Name), index: index, typ: sf.Type, tag: sf.Tag,
					owner: e.typ, goName: sf.Name, tagged: name != "",
					pointed: e.pointed,
					optional: e.pointed || sf.Type.Kind() == reflect.Pointer ||
						slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
					quoted: slices.Contains(options, "string") && scalar(base.Kind()),
				}
				all = append(all, f)
				if count[e.typ] > 1 {
					all = append(all, f) // the same struct embedded twice hides its fields
				}
			}
		}
	}
	byName := map[string][]field{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var fields []field
	for _, group := range byName {
		if f, ok := dominant(group); ok {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// dominant picks the field that a name stands for: the least nested one, and of
// several the one whose name comes from a tag. If that does not decide, none.
func dominant(group []field) (field, bool) {
	rank := func(a, b field) int {
		if c := cmp.Compare(len(a.index), len(b.index)); c != 0 {
			return c
		}
		switch {
		case a.tagged == b.tagged:
			return 0
		case a.tagged:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(group, rank)
	if len(group) > 1 && rank(group[0], group[1]) == 0 {
		return field{}, false
	}
	return group[0], true
}

// validName reports whether encoding/json accepts s as a name in a tag.
func validName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}

func scalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}
