//go:build !linux

package search

func forbidOpenat2(filesystem) bool { return false }
