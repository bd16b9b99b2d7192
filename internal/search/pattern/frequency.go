package pattern

import "math"

// frequency says how often each byte occurs in source code and its
// documentation, per 65536 bytes; at least 1.
var frequency = [256]uint16{
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1093, 1678, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	9123, 44, 869, 192, 113, 43, 56, 394, 650, 650, 266, 58, 882, 399, 829, 1194,
	574, 400, 325, 249, 246, 204, 229, 162, 195, 167, 502, 127, 670, 531, 730, 14,
	19, 227, 120, 236, 159, 241, 136, 74, 69, 182, 26, 32, 146, 139, 153, 156,
	178, 22, 219, 303, 250, 93, 88, 60, 54, 26, 13, 211, 132, 211, 9, 461,
	171, 2606, 638, 1600, 1497, 4251, 982, 716, 1052, 2336, 192, 272, 1810, 965, 2524, 2374,
	1231, 63, 2472, 2690, 3317, 1102, 355, 298, 420, 485, 67, 235, 64, 235, 14, 1,
	4, 2, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 4, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 4,
	41, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 6, 3, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 48, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1,
	6, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	3, 1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
}

// pairs says the same of two letters beside each other, whatever their case: a row for each
// first letter, in which 'a' stands for one in 16 and each letter further for
// a factor of the square root of two less.
const pairs = "" +
	"qmkkqomwnwpikjxmwikippropw" +
	"nrormquynqymvwotwpqtnwwrmy" +
	"krnpkrrkqzlnptipvopkpqwttz" +
	"mqpmjquvlwxprsnssnoqostrrz" +
	"kpkjnmmtpxtkmiqnpgiismnkpx" +
	"nrrpnivwkzynqslqzooplxwutz" +
	"rtrvkstoozyrtolsyonprwwvyx" +
	"lxvtjvwxjzytswnvzpsoryvzwz" +
	"polmnjmxvyvklfkoxnjkypxqzo" +
	"vyyzrzzzyzzzuzuzzztzuzzzzz" +
	"qvuumvswqzzuvtvuywrvtyxzyz" +
	"ltsmiqtujzulttjrvsnnlttxox" +
	"kqtpjvwxnzvrotllyuopovxyvz" +
	"ksjjjpjvlypqrqlrytkgppvyrx" +
	"oollqlpwozpmlinlzimllmnuyz" +
	"kspqkturozrmrwlowlnmotvssz" +
	"wxywyzyyzzzzvzzzxuwzpzyzzz" +
	"ktophnmtjzqpokjswjllmqtuoz" +
	"mpmqissmkzooprnntqlhmuqulw" +
	"jrnqhpthizvpqsjnwilnksrrlt" +
	"qooskpswkzzmnjuowkmmyxxszw" +
	"kuqsksvwpzxssurpstrrwstsyw" +
	"nvuupvwqnzzvurqtypquywvxyz" +
	"lllnljywrzzvsysoztrnvwwuvz" +
	"vwtutwxytzzrqpulzsmnwxxxxx" +
	"vzxznzyztzzzyzvzzwyzzzzxxt"

// How much more often two bytes that are not both letters are beside each other
// than each on its own would suggest, and two of large classes, such as digits.
const habit, habitClass = 4, 12

// pairChance estimates how often b follows a.
func pairChance(a, b byte) float64 {
	p := freq(a) * freq(b)
	if !isLetter(a) || !isLetter(b) {
		return min(p*habit, freq(a), freq(b))
	}
	i, j := int(a|0x20-'a'), int(b|0x20-'a')
	both := math.Exp2(-4 - float64(pairs[26*i+j]-'a')/2)
	return both * p / ((freq(a) + freq(a^0x20)) * (freq(b) + freq(b^0x20)))
}
