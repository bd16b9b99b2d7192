//go:build !windows

package permission

const foldsCase = false
