//go:build go1.27

package gotext

// replaced has texts of Go 1.26, each followed by that of Go 1.27.
var replaced = []string{
	"invalid character '[' exceeded max depth", "exceeded max depth",
	"invalid character '{' exceeded max depth", "exceeded max depth",
	"invalid character 'ï' looking for beginning of value", `invalid character '\ufeff' looking for beginning of value`,
	`\ufffd`, "\ufffd", // for bytes that are not UTF-8
}
