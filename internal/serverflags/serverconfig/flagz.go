package serverconfig

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/internal/serverflags"
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
func CommandLine(args []string, is InEffect) map[string]string {
	flags, err := serverflags.Parse(args)
	if err != nil {
		return nil
	}
	all := flags.All()
	if !flags.Given("authorization-mode") && !flags.Given("authorization-config") && is.Authorization != "" {
		all["authorization-mode"] = listed(is.Authorization)
	}
	all["etcd-compaction-interval"] = is.CompactionInterval.String()
	all["anonymous-auth"] = strconv.FormatBool(is.Anonymous)
	all["enable-admission-plugins"] = listed(is.EnableAdmissionPlugins...)
	all["disable-admission-plugins"] = listed(is.DisableAdmissionPlugins...)
	all["runtime-config"] = strings.Join(slices.Sorted(slices.Values(is.RuntimeConfig)), ",")
	return all
}

// listed prints the value of a flag that may have several.
func listed(of ...string) string { return "[" + strings.Join(of, ",") + "]" }
