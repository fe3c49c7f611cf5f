// Package files holds the files of containers: a [Tree] for each volume and for a container's own files, and a [Root]
// that shows them to a container at its mount paths.
//
// A tree is in memory. [Tree.Folder] moves it into a folder on disk, for code that needs paths; from then on all users
// of the tree read and write there.
//
// All methods are safe for concurrent use. No lock is held while anything waits.
package files
