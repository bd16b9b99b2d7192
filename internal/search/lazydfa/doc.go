// Package lazydfa decides which lines of a text a regular expression matches,
// in time linear in the text whatever the expression.
//
// An expression is parsed by [regexp/syntax], compiled to an automaton over
// bytes and made deterministic while the text is read: a state is computed the
// first time it is needed and kept in a table of bounded size. Lines are
// independent of each other, so a long text is cut into four parts at line
// breaks and four automata advance in one loop; their table look-ups overlap,
// which is worth more than a factor of two on one core.
//
// The automaton only says whether a line matches and where it knew. Positions
// of matches and of groups are left to package regexp, which is asked about the
// few lines that are shown.
//
// Two deliberate differences to matching every line with package regexp: a
// class (also the dot) matches well-formed UTF-8 only, never a stray byte, and a
// carriage return before the line feed is no part of the line unless
// [Config.KeepCR] is set.
package lazydfa
