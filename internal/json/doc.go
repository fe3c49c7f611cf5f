// Package json reads, prints and compares what unstructured objects are made of: nil,
// bool, int64, float64, string, []any and map[string]any.
//
// It reads what sigs.k8s.io/json would read, and prints what encoding/json of Go 1.26 would
// print, byte for byte, with any release of Go. It leaves unusual texts and values to those packages.
package json
