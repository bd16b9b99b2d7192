package pdftext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// glyphs are the names of characters that are not a letter of ASCII, as
// "name:characters". Accented letters are made of their parts; see glyphText.
const glyphs = `space:  exclam:! quotedbl:" numbersign:# dollar:$ percent:% ampersand:& quotesingle:' parenleft:( parenright:) asterisk:*
plus:+ comma:, hyphen:- minus:− period:. slash:/ zero:0 one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 colon:: semicolon:;
less:< equal:= greater:> question:? at:@ bracketleft:[ backslash:\ bracketright:] asciicircum:^ underscore:_ grave:` + "`" + ` braceleft:{ bar:| braceright:}
asciitilde:~ quoteleft:‘ quoteright:’ quotedblleft:“ quotedblright:” quotesinglbase:‚ quotedblbase:„ guillemotleft:« guillemotright:»
guilsinglleft:‹ guilsinglright:› endash:– emdash:— bullet:• ellipsis:… dagger:† daggerdbl:‡ perthousand:‰ trademark:™ copyright:© registered:®
section:§ paragraph:¶ degree:° plusminus:± multiply:× divide:÷ periodcentered:· middot:· onehalf:½ onequarter:¼ threequarters:¾ onesuperior:¹
twosuperior:² threesuperior:³ mu:µ cent:¢ sterling:£ yen:¥ Euro:€ currency:¤ florin:ƒ fraction:⁄ exclamdown:¡ questiondown:¿ brokenbar:¦
logicalnot:¬ macron:¯ ordfeminine:ª ordmasculine:º germandbls:ß ae:æ AE:Æ oe:œ OE:Œ oslash:ø Oslash:Ø eth:ð Eth:Ð thorn:þ Thorn:Þ dotlessi:ı
lslash:ł Lslash:Ł fi:fi fl:fl ff:ff ffi:ffi ffl:ffl nbspace:  nonbreakingspace:  sfthyphen:- softhyphen:- hyphentwo:- acute:´ dieresis:¨ cedilla:¸
circumflex:ˆ tilde:˜ breve:˘ dotaccent:˙ ring:˚ ogonek:˛ caron:ˇ hungarumlaut:˝ summation:∑ product:∏ integral:∫ radical:√ infinity:∞ partialdiff:∂
approxequal:≈ notequal:≠ lessequal:≤ greaterequal:≥ lozenge:◊ apple: arrowleft:← arrowright:→ arrowup:↑ arrowdown:↓ checkmark:✓ Omega:Ω Delta:∆
alpha:α beta:β gamma:γ delta:δ epsilon:ε zeta:ζ eta:η theta:θ iota:ι kappa:κ lambda:λ nu:ν xi:ξ omicron:ο pi:π rho:ρ sigma:σ tau:τ upsilon:υ phi:φ chi:χ
psi:ψ omega:ω Gamma:Γ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π Sigma:Σ Phi:Φ Psi:Ψ universal:∀ existential:∃ element:∈ emptyset:∅ intersection:∩ union:∪ logicaland:∧ logicalor:∨`

// accents are what accented letters end in, with the combining character.
var accents = [...]struct{ suffix, mark string }{
	{"acute", "\u0301"}, {"grave", "\u0300"}, {"circumflex", "\u0302"}, {"dieresis", "\u0308"}, {"tilde", "\u0303"}, {"ring", "\u030a"},
	{"cedilla", "\u0327"}, {"caron", "\u030c"}, {"ogonek", "\u0328"}, {"macron", "\u0304"}, {"breve", "\u0306"}, {"dotaccent", "\u0307"},
	{"hungarumlaut", "\u030b"}, {"commaaccent", "\u0326"},
}

// glyphText returns the characters that a glyph stands for, by its name.
func glyphText(glyph string) (string, bool) {
	if base, _, ok := strings.Cut(glyph, "."); ok && base != "" {
		glyph = base // a variant of the same character
	}
	if len(glyph) == 1 {
		return glyph, glyph[0] < utf8.RuneSelf
	}
	key := glyph + ":"
	for at := 0; ; {
		i := strings.Index(glyphs[at:], key)
		if i < 0 {
			break
		}
		i += at
		if i == 0 || glyphs[i-1] == ' ' || glyphs[i-1] == '\n' {
			rest := glyphs[i+len(key):]
			if rest[0] == ' ' {
				return " ", true
			}
			if end := strings.IndexAny(rest, " \n"); end >= 0 {
				rest = rest[:end]
			}
			return rest, true
		}
		at = i + 1
	}
	for _, prefix := range []string{"uni", "u"} {
		if hex, ok := strings.CutPrefix(glyph, prefix); ok && len(hex) >= 4 && len(hex) <= 6 {
			if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v <= utf8.MaxRune {
				return string(rune(v)), true
			}
		}
	}
	for _, a := range accents {
		if letter, ok := strings.CutSuffix(glyph, a.suffix); ok && len(letter) == 1 {
			return compose(letter + a.mark), true
		}
	}
	return "", false
}

// standardOdd are the codes of Adobe's standard encoding that are not ASCII.
const standardOdd = "\x27quoteright \x60quoteleft \xa1exclamdown \xa2cent \xa3sterling \xa4fraction \xa5yen \xa6florin \xa7section \xa8currency \xa9quotesingle " +
	"\xaaquotedblleft \xabguillemotleft \xacguilsinglleft \xadguilsinglright \xaefi \xaffl \xb1endash \xb2dagger \xb3daggerdbl \xb4periodcentered \xb6paragraph " +
	"\xb7bullet \xb8quotesinglbase \xb9quotedblbase \xbaquotedblright \xbbguillemotright \xbcellipsis \xbdperthousand \xbfquestiondown \xc1grave \xc2acute " +
	"\xc3circumflex \xc4tilde \xc5macron \xc6breve \xc7dotaccent \xc8dieresis \xcaring \xcbcedilla \xcdhungarumlaut \xceogonek \xcfcaron \xd0emdash \xe1AE " +
	"\xe3ordfeminine \xe8Lslash \xe9Oslash \xeaOE \xebordmasculine \xf1ae \xf5dotlessi \xf8lslash \xf9oslash \xfaoe \xfbgermandbls"

// baseEncoding returns what the codes of a simple font say by a named encoding.
func baseEncoding(encoding string) *[256]string {
	var t [256]string
	for c := range 256 {
		switch {
		case encoding == "MacRomanEncoding":
			t[c] = string(charmap.Macintosh.DecodeByte(byte(c)))
		case encoding == "WinAnsiEncoding":
			t[c] = string(charmap.Windows1252.DecodeByte(byte(c)))
		case c >= 0x20 && c < 0x7f:
			t[c] = string(rune(c))
		}
		if t[c] == "\uFFFD" || c < 0x20 {
			t[c] = ""
		}
	}
	if encoding == "" || encoding == "StandardEncoding" {
		for entry := range strings.SplitSeq(standardOdd, " ") {
			if text, ok := glyphText(entry[1:]); ok {
				t[entry[0]] = text
			}
		}
	}
	return &t
}
