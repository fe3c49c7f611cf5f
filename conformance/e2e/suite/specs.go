package suite

import "regexp"

// slow are specs that wait for minutes. They are run with -full only, and their last result stays in the list.
var slow = []*regexp.Regexp{
	regexp.MustCompile(` CustomResourceDefinition Watch `),                                                // for a minute
	regexp.MustCompile(` ResourceQuota should apply changes to a resourcequota status `),                  // for a resync
	regexp.MustCompile(` should support continue listing from the last key if the original version has `), // for two compactions
}

func isSlow(spec string) bool {
	for _, s := range slow {
		if s.MatchString(spec) {
			return true
		}
	}
	return false
}
