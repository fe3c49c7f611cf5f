package suite

import "regexp"

// beyond are specs that need what is not in a fakecluster. They are run with -full only: most wait five
// minutes for a Pod before they fail.
var beyond = []struct {
	specs  *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(` AdmissionWebhook `), "its webhook is served by a Pod"},
	{regexp.MustCompile(` (CustomResourceConversionWebhook|CustomResourceFieldSelectors) `), "its conversion webhook is served by a Pod"},
	{regexp.MustCompile(` Aggregator `), "its API server is a Pod"},
	{regexp.MustCompile(` Garbage collector .*\b(rc|dependents to be deleted)\b`), "needs the controller of ReplicationControllers"},
	{regexp.MustCompile(` Garbage collector .* RS created by deployment `), "needs the controller of Deployments"},
	{regexp.MustCompile(` (OrderedNamespaceDeletion|Namespaces should ensure that all pods are removed) `), "waits until a Pod runs"},
	{regexp.MustCompile(` (should allow server and client pods|should honor UserAnnotations|should issue certificate) `), "a Pod reads what a kubelet mounts"},
	{regexp.MustCompile(` (should be able to mount|should be able to specify multiple CTB volumes|should be capable to mount|should prevent a pod from starting) `), "a Pod reads what a kubelet mounts"},
	{regexp.MustCompile(` ServiceAccounts (should mount|ServiceAccountIssuerDiscovery) `), "a Pod reads what a kubelet mounts"},
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
