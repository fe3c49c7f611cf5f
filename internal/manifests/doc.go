// Package manifests finds the files that users name, reads the objects in them, and orders the objects for installation.
// Other files, such as scenarios and certificates, are read by the same rules. A path may name a file without end, such
// as /dev/zero, or one that blocks, such as a FIFO without a writer.
//
// Invariant: only regular files are opened, and no more than MaxSize bytes are read.
package manifests
