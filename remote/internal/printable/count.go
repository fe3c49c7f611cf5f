// Code generated from internal/printable/count.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package printable

import "fmt"

// Count returns a number with a noun, which gets a plural s: "1 request", "2 requests".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
