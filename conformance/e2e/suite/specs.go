package suite

import (
	"regexp"
	"strings"
)

// selection is a part of the suite.
type selection struct {
	focus, skip string // regular expressions for names
	// specsOfGroup is how many specs share a cluster and a process.
	specsOfGroup int
}

var (
	conformance = selection{focus: `\[Conformance\]`, skip: `^$`, specsOfGroup: 12}
	// Some specs beyond conformance wait for minutes before they fail, so fewer share a process.
	beyond = selection{focus: `^`, skip: strings.Join(elsewhere, "|"), specsOfGroup: 6}
)

// elsewhere are the specs that are not among those beyond conformance.
var elsewhere = []string{
	`\[Conformance\]`,
	`\[Slow\]`, `\[Serial\]`, `\[Disruptive\]`, `\[Flaky\]`, `\[Feature:`, `\[FeatureGate:`, // not part of a default run
	`\[Driver: (vsphere|azure-disk|azure-file|cinder)\]`, // a cloud
	`\[Driver: (nfs|nfs3)\]`, `PersistentVolumes NFS`,    // NFS of a real kernel
	`\[Driver: local\]`, `PersistentVolumes-local`, // mounts in the namespaces of a real kernel
	`\[Driver: csi-hostpath\]`, `CSI Mock`, `Volume metrics`, // a CSI driver
	`loopback local block volume`, `Mount propagation`, `support seccomp`, `TCP CLOSE_WAIT`, `invalid conntrack state`, // a real kernel
	`host cleanup with volume mounts`, // NFS, too
	`\[sig-windows\]`,                 // Nodes with Windows
}

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
