package fsroot

import (
	"strings"
	"unicode/utf8"
)

const (
	maxPath      = 4096 // bytes of a whole name, PATH_MAX
	maxComponent = 255  // bytes of one component, NAME_MAX
	maxLinks     = 40   // as the Linux kernel
)

// CheckName refuses names that no file system call should ever see on goos (a GOOS value): empty, with a NUL byte, over 4096
// bytes or with a component over 255, not UTF-8 where the system needs it, and on Windows everything that means something
// else than it seems to: drive-relative names, UNC and device paths, alternate data streams, reserved names, names that end in
// a dot or a blank. It is a pure function and looks at text only. Errors match [ErrBadPath].
//
// Nothing is decoded or expanded: "~", "$HOME" and "%2e" are ordinary characters.
func CheckName(goos, name string) error {
	switch {
	case name == "":
		return badPath(name, "the path is empty")
	case strings.IndexByte(name, 0) >= 0:
		return badPath(name, "the path contains a NUL byte")
	case len(name) > maxPath:
		return badPath(name, "the path is longer than %d bytes", maxPath)
	case (goos == "windows" || goos == "darwin" || goos == "ios") && !utf8.ValidString(name):
		return badPath(name, "the path is not valid UTF-8")
	}
	rest := name
	if goos == "windows" {
		var err error
		if rest, err = windowsRest(name); err != nil {
			return err
		}
	}
	for rest != "" {
		var part string
		if i := strings.IndexFunc(rest, func(r rune) bool { return r == '/' || goos == "windows" && r == '\\' }); i >= 0 {
			part, rest = rest[:i], rest[i+1:]
		} else {
			part, rest = rest, ""
		}
		if len(part) > maxComponent {
			return badPath(name, "one part of the path is longer than %d bytes", maxComponent)
		}
		if goos == "windows" {
			if err := checkWindowsPart(name, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// windowsRest checks the beginning of a Windows name and returns what follows the drive.
func windowsRest(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.HasPrefix(slashed, "//?/"), strings.HasPrefix(slashed, "//./"), strings.HasPrefix(slashed, "/??/"):
		return "", badPath(name, "device paths are not accepted")
	case strings.HasPrefix(slashed, "//"):
		return "", badPath(name, "network paths are not accepted")
	}
	if len(name) >= 2 && name[1] == ':' && isLetter(name[0]) {
		if len(name) == 2 || slashed[2] != '/' {
			return "", badPath(name, "a drive letter must be followed by a slash")
		}
		return name[3:], nil
	}
	return name, nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

var windowsReserved = map[string]bool{
	"con": true, "prn": true, "aux": true, "nul": true, "conin$": true, "conout$": true, "clock$": true,
}

func checkWindowsPart(name, part string) error {
	if part == "" || part == "." || part == ".." {
		return nil
	}
	if i := strings.IndexAny(part, `:<>"|?*`); i >= 0 {
		if part[i] == ':' {
			return badPath(name, "%q names a data stream", part)
		}
		return badPath(name, "%q cannot be part of a file name on Windows", part[i:i+1])
	}
	if c := strings.IndexFunc(part, func(r rune) bool { return r < 0x20 }); c >= 0 {
		return badPath(name, "a control character cannot be part of a file name on Windows")
	}
	if last := part[len(part)-1]; last == '.' || last == ' ' {
		return badPath(name, "Windows ignores the dot or blank at the end of %q", part)
	}
	stem := strings.ToLower(part)
	if i := strings.IndexByte(stem, '.'); i >= 0 {
		stem = stem[:i]
	}
	stem = strings.TrimRight(stem, " ")
	if windowsReserved[stem] || isPort(stem) {
		return badPath(name, "%q is a reserved device name on Windows", part)
	}
	return nil
}

// isPort recognises com1…com9 and lpt1…lpt9, also with the superscript digits that Windows takes for digits.
func isPort(stem string) bool {
	if !strings.HasPrefix(stem, "com") && !strings.HasPrefix(stem, "lpt") {
		return false
	}
	switch d := stem[3:]; d {
	case "¹", "²", "³":
		return true
	default:
		return len(d) == 1 && '0' <= d[0] && d[0] <= '9'
	}
}
