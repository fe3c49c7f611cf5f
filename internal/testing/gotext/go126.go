//go:build !go1.27

package gotext

var replaced []string
