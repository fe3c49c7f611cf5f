// Package json reads, prints and compares what unstructured objects are made of: nil,
// bool, int64, float64, string, []any and map[string]any.
//
// What it reads and prints is what sigs.k8s.io/json and encoding/json would, byte for
// byte. A text that it does not know it leaves to them, and never calls it wrong.
package json
