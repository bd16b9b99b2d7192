package clienttool

import (
	"cmp"
	"strings"
)

const maxVersion = 64

// compareVersions orders versions as semantic versioning does where they are such:
// number by number, a pre-release before its release, build metadata left out. Parts
// that are no numbers compare as text, after all numbers. No version is the oldest.
func compareVersions(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(a), len(b))
	}
	a, preA := cutVersion(a)
	b, preB := cutVersion(b)
	if n := compareParts(a, b, "0"); n != 0 {
		return n
	}
	if preA == "" || preB == "" {
		return cmp.Compare(len(preB), len(preA))
	}
	return compareParts(preA, preB, "")
}

func cutVersion(v string) (release, pre string) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
	release, pre, _ = strings.Cut(v, "-")
	return release, pre
}

// compareParts compares what stands between dots; missing stands for parts that one of them lacks.
func compareParts(a, b, missing string) int {
	for a != "" || b != "" {
		var x, y string
		x, a = nextPart(a, missing)
		y, b = nextPart(b, missing)
		if n := comparePart(x, y); n != 0 {
			return n
		}
	}
	return 0
}

func nextPart(s, missing string) (part, rest string) {
	if s == "" {
		return missing, ""
	}
	part, rest, _ = strings.Cut(s, ".")
	return part, rest
}

func comparePart(x, y string) int {
	nx, ny := isNumber(x), isNumber(y)
	switch {
	case nx && ny:
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	case nx != ny && x != "" && y != "":
		if nx {
			return -1
		}
		return 1
	}
	return strings.Compare(x, y)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
