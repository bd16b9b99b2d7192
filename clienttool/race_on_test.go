//go:build race

package clienttool_test

const raceEnabled = true
