// Package rewrite changes scenario files so that they expect what the cluster answers. It edits the text: comments, order and layout stay, and
// only what was not as expected changes. A file that has changed since it was read is left alone.
package rewrite
