package proc

import "strings"

// Waiting reports whether the process seems to wait for input, and at which
// prompt ("" if it printed none). It is a guess: on Linux from what the
// processes are doing, elsewhere, and for programs that ask in their own way,
// from the last line of the output.
func (p *Process) Waiting() (prompt string, ok bool) {
	if ended(p.exited) {
		return "", false
	}
	last := lastLine(p.out.collect.Snapshot(1 << 10).Text)
	if p.group.readsInput(p.inputFile()) {
		return last, true
	}
	if looksLikePrompt(last) {
		return last, true
	}
	return "", false
}

// lastLine returns the last line of text if it is unfinished.
func lastLine(text string) string {
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// looksLikePrompt reports whether an unfinished line asks for something.
func looksLikePrompt(line string) bool {
	l := strings.ToLower(strings.TrimSpace(line))
	if l == "" || len(l) > 300 {
		return false
	}
	for _, end := range []string{
		"[y/n]", "(y/n)", "[yes/no]", "(yes/no)", "(yes/no/[fingerprint])", "[y/n/q]", "[y/n]:", "(y/n):", "[y/n]?", "(y/n)?",
		"login:", "continue?", "proceed?", ">>>", "...:", "(pdb)", "(gdb)", "mysql>", "irb>", "(end)", "--more--",
	} {
		if strings.HasSuffix(l, end) {
			return true
		}
	}
	for _, word := range []string{"password", "passphrase", "username", "verification code", "press any key", "press enter", "press return", "hit enter", "are you sure", "do you want to", "overwrite", "enter "} {
		if strings.Contains(l, word) && strings.ContainsAny(l[len(l)-1:], ":?.])>") {
			return true
		}
	}
	return false
}
