// Package gotext has the messages of Go's own packages that differ between releases of Go. Tests have those of Go 1.26, with
// which Kubernetes 1.37 is built.
package gotext

import "strings"

// JSON returns a message with the text of an error of encoding/json, or an answer that encoding/json has written, as the release of Go has it that the test is compiled with.
func JSON(message string) string { return strings.NewReplacer(replaced...).Replace(message) }
