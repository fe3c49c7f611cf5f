package serverflags

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// InEffect has the settings of a cluster, by flags or by other options.
type InEffect struct {
	Authorization                                   string // a mode; empty: another authorizer decides
	Anonymous                                       bool
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	RuntimeConfig                                   []string
	CompactionInterval                              time.Duration
}

// CommandLine returns the values of all flags of kube-apiserver that match the cluster's configuration, as far as flags
// can. args is the cluster's own command line; if it is not valid, the result is nil.
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
