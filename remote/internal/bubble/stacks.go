package bubble

import "strings"

// Stacks returns the stacks of the goroutines of a bubble.
func Stacks(bubble string) (found []string) {
	for _, stack := range strings.Split(stacks(true), "\n\n") {
		if header := goroutineHeader.FindStringSubmatch(stack); header != nil && header[3] == bubble {
			found = append(found, stack)
		}
	}
	return found
}
