//go:build unix

package discover

import (
	"fmt"
	"os"
)

// executable says why a file cannot be run.
func executable(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not executable", name)
	}
	return nil
}
