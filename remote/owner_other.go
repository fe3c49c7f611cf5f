//go:build !unix

package remote

// checkOwner returns nil: the cache folder of a user is in the user's profile, where others cannot write.
func checkOwner(string) error { return nil }
