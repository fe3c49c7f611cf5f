// Package image has what a node knows about images: their names as container runtimes report them, the users and entrypoints of well-known
// ones, and which images are on the node. No image is pulled, so digests and sizes follow from the names.
package image
