package serverflags

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// InEffect is what holds in a cluster, by flags or by other options.
type InEffect struct {
	Authorization                                   string // a mode; empty: the decision is not made by a mode
	Anonymous                                       bool
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	RuntimeConfig                                   []string
	CompactionInterval                              time.Duration
}

// CommandLine returns all flags of kube-apiserver with the values that configure a server as the
// cluster is, as far as there are such flags. The args are the cluster's own command line; if they are
// not valid, the result is nil.
func CommandLine(args []string, effect InEffect) map[string]string {
	flags, err := Parse(args)
	if err != nil {
		return nil
	}
	values := flags.All()
	if !flags.Given("authorization-mode") && !flags.Given("authorization-config") && effect.Authorization != "" {
		values["authorization-mode"] = listed(effect.Authorization)
	}
	values["etcd-compaction-interval"] = effect.CompactionInterval.String()
	values["anonymous-auth"] = strconv.FormatBool(effect.Anonymous)
	values["enable-admission-plugins"] = listed(effect.EnableAdmissionPlugins...)
	values["disable-admission-plugins"] = listed(effect.DisableAdmissionPlugins...)
	values["runtime-config"] = strings.Join(slices.Sorted(slices.Values(effect.RuntimeConfig)), ",")
	return values
}

// listed prints the value of a flag that may have several.
func listed(items ...string) string { return "[" + strings.Join(items, ",") + "]" }
