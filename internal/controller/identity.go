package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Identity is the identity of a controller in its requests.
type Identity struct {
	user      user.Info
	manager   string // field manager; also the name of the controller's program
	userAgent string
	// discovers: the controller writes in the preferred version of a kind, as a client that uses discovery does.
	// Otherwise it writes in the storage version.
	discovers bool
}

// APIServer is the identity of the server itself.
var APIServer = (Identity{manager: "kube-apiserver", user: &user.DefaultInfo{
	Name:   "system:apiserver",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}}).withUserAgent()

// ServiceAccount returns the identity of a controller of kube-controller-manager with its own service account in
// kube-system.
func ServiceAccount(name string) Identity {
	return (Identity{manager: "kube-controller-manager", discovers: true, user: &user.DefaultInfo{
		Name:   "system:serviceaccount:kube-system:" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
	}}).withUserAgent()
}

// User returns the user of the controller's requests.
func (i Identity) User() user.Info { return i.user }

// Manager returns the field manager of the controller's writes, except applies.
func (i Identity) Manager() string { return i.manager }

// UserAgent returns the user agent of the controller's requests. As in a cluster with --use-service-account-credentials,
// it ends with the name of the service account.
func (i Identity) UserAgent() string { return i.userAgent }

// withUserAgent returns the identity with its user agent.
func (i Identity) withUserAgent() Identity {
	v := release.Info()
	i.userAgent = fmt.Sprintf("%s/%s (%s) kubernetes/unknown", i.manager, v.GitVersion, v.Platform) // the commit of upstream's build is not known
	if name := i.user.GetName(); strings.HasPrefix(name, "system:serviceaccount:") {
		i.userAgent += "/" + name
	}
	return i
}

// Version returns the version in which the controller writes objects of a resource.
func (i Identity) Version(res *resource.Resource) *resource.Version {
	if !i.discovers && res.Storage.Served {
		return res.Storage
	}
	return preferred(res)
}

// preferred returns the version that a client chooses from discovery.
func preferred(res *resource.Resource) *resource.Version {
	if i := slices.IndexFunc(res.Versions, func(v *resource.Version) bool { return v.Served }); i >= 0 {
		return res.Versions[i]
	}
	return res.Storage
}
