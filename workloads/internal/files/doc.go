// Package files holds the files of containers: a [Tree] for each volume and for what a container writes itself, and a
// [Root] that shows them to a container under its mount paths.
//
// A tree lives in memory. [Tree.Folder] moves it into a folder on disk, for code that needs paths; from then on
// everybody who has the tree reads and writes there.
//
// All methods are safe for concurrent use. No lock is held while anything waits.
package files
