// Package image has the images of a node: their names as container runtimes report them, the users and entrypoints of
// well-known images, and the store of images on a node. No image is really pulled, so digests and sizes are computed
// from the names.
package image
