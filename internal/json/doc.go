// Package json reads, prints and compares the values of unstructured objects: nil, bool, int64, float64, string, []any
// and map[string]any.
//
// It reads like sigs.k8s.io/json, and prints the bytes that encoding/json of Go 1.26 prints, with any release of Go. It
// leaves unusual texts and values to those packages.
package json
