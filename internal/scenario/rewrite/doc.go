// Package rewrite changes expectations in scenario files to the answers of a cluster. It edits the text: comments, order
// and layout stay, and only values that differ change. It does not write a file that has changed since it was read.
package rewrite
