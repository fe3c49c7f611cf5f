package suite

import "regexp"

// beyond are specs that need what the clusters do not have. They are run with -full only: most wait five
// minutes before they fail.
var beyond = []struct {
	specs  *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(` Aggregator `), "its API server needs etcd, and asks the aggregator for a client certificate"},
}

// slow are specs that wait for minutes. They are run with -full only, and their last result stays in the list.
var slow = []*regexp.Regexp{
	regexp.MustCompile(` CustomResourceDefinition Watch `),                                                // for a minute
	regexp.MustCompile(` ResourceQuota should apply changes to a resourcequota status `),                  // for a resync
	regexp.MustCompile(` should support continue listing from the last key if the original version has `), // for two compactions
}

// reasonBeyond returns why a spec cannot pass; empty if it can.
func reasonBeyond(spec string) string {
	for _, b := range beyond {
		if b.specs.MatchString(spec) {
			return b.reason
		}
	}
	return ""
}

func isSlow(spec string) bool {
	for _, s := range slow {
		if s.MatchString(spec) {
			return true
		}
	}
	return false
}
