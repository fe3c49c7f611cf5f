// Package regularfile reads files that users name: manifests and scenarios. A path may name a file
// without end, such as /dev/zero, or one that blocks, such as a FIFO without a
// writer.
//
// Invariant: only regular files are opened, and no more than MaxSize bytes are read.
package regularfile
