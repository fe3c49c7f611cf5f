package host

// Routes returns the methods and paths of all operations.
func Routes() (all []string) {
	for _, o := range operations() {
		all = append(all, o.method+" "+o.path)
	}
	return all
}
