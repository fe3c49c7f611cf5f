package host

// Routes returns the methods and paths of all operations.
func Routes() (found []string) {
	for _, o := range operations() {
		found = append(found, o.method+" "+o.path)
	}
	return found
}
