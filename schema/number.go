package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number kept exactly: ±digits × 10^exp. digits has neither
// leading nor trailing zeros and is empty for zero.
type decimal struct {
	neg    bool
	digits string
	exp    int
}

// maxExp bounds exponents, so that sums of them cannot overflow.
const maxExp = 1 << 30

// parseDecimal reads a number that follows the grammar of JSON.
func parseDecimal(s string) decimal {
	var d decimal
	s, d.neg = strings.CutPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil { // out of range: Atoi has gone to the limit on the right side
			e = min(max(e, -maxExp), maxExp)
		}
		d.exp = min(max(e, -maxExp), maxExp)
		s = s[:i]
	}
	if whole, frac, ok := strings.Cut(s, "."); ok {
		d.exp -= len(frac)
		s = whole + frac
	}
	t := strings.TrimRight(s, "0")
	d.exp += len(s) - len(t)
	d.digits = strings.TrimLeft(t, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// isInt reports whether the number has no fraction.
func (d decimal) isInt() bool { return d.digits == "" || d.exp >= 0 }

// cmp compares the numbers exactly.
func (d decimal) cmp(e decimal) int {
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.neg:
			return -1
		}
		return 1
	}
	s, t := sign(d), sign(e)
	if s != t || s == 0 {
		return cmp.Compare(s, t)
	}
	if m, n := len(d.digits)+d.exp, len(e.digits)+e.exp; m != n {
		if m < n {
			return -s
		}
		return s
	}
	return s * strings.Compare(d.digits, e.digits) // both start at the same power of ten
}

// String writes the number in one form for every spelling of it: plain where
// that is not long, else with one digit before the point and an exponent.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.neg {
		sign = "-"
	}
	n := len(d.digits)
	switch point := n + d.exp; { // where the decimal point falls in digits
	case d.exp >= 0 && point <= 40:
		return sign + d.digits + strings.Repeat("0", d.exp)
	case d.exp < 0 && point > 0:
		return sign + d.digits[:point] + "." + d.digits[point:]
	case d.exp < 0 && point > -7:
		return sign + "0." + strings.Repeat("0", -point) + d.digits
	}
	frac := ""
	if n > 1 {
		frac = "." + d.digits[1:]
	}
	return sign + d.digits[:1] + frac + "e" + strconv.Itoa(n-1+d.exp)
}

// bigInt returns the number if it is an integer of at most 400 digits.
func (d decimal) bigInt() (*big.Int, bool) {
	if !d.isInt() || len(d.digits)+d.exp > 400 {
		return nil, false
	}
	n, ok := new(big.Int).SetString("0"+d.digits+strings.Repeat("0", d.exp), 10)
	if ok && d.neg {
		n.Neg(n)
	}
	return n, ok
}

// plainInt reports whether the literal is digits only, with or without a sign.
func plainInt(lit string) bool { return !strings.ContainsAny(lit, ".eE") }

// integral reports whether a JSON number is an integer as JSON Schema sees it:
// 5, 5.0 and 1e2 are.
func integral(lit string) bool { return plainInt(lit) || parseDecimal(lit).isInt() }

// isNumber reports whether s is a number in the grammar of JSON.
func isNumber(s string) bool {
	n := scanNumber(s, 0)
	return n == len(s) && n > 0
}

// scanNumber returns the end of the number that starts at s[i], or -1 if there
// is none. A number that breaks off at the end of s gives len(s)+1.
func scanNumber(s string, i int) int {
	digits := func() bool {
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i > start
	}
	short := func() int {
		if i == len(s) {
			return len(s) + 1
		}
		return -1
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return short()
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return short()
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return short()
		}
	}
	return i
}

// finite reports whether the number is within what a float64 can hold.
func finite(lit string) bool {
	if len(lit) < 300 && plainInt(lit) {
		return true
	}
	_, err := strconv.ParseFloat(lit, 64)
	return err == nil
}

func decimalOf(n int64) string   { return strconv.FormatInt(n, 10) }
func floatText(f float64) string { return parseDecimal(strconv.FormatFloat(f, 'g', -1, 64)).String() }
