package fakecluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// commandLine returns all flags of kube-apiserver with the values that configure a server as this
// cluster is, as far as there are such flags.
func (s *settings) commandLine() map[string]string {
	flags, err := serverflags.Parse(s.apiServerFlags)
	if err != nil {
		return nil // New has parsed them before
	}
	all := flags.All()
	if !flags.Given("authorization-mode") && !flags.Given("authorization-config") && s.authorizer == nil {
		all["authorization-mode"] = listed(string(cmp.Or(s.authorization, RBAC)))
	}
	all["etcd-compaction-interval"] = s.compaction.String()
	all["anonymous-auth"] = strconv.FormatBool(s.flags.users.Anonymous)
	all["enable-admission-plugins"] = listed(s.admissionPlugins...)
	all["disable-admission-plugins"] = listed(s.noAdmissionPlugins...)
	all["runtime-config"] = strings.Join(slices.Sorted(slices.Values(s.runtimeConfig)), ",")
	return all
}

// listed prints the value of a flag that may have several.
func listed(of ...string) string { return "[" + strings.Join(of, ",") + "]" }
