package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Identity is who a controller is in its requests.
type Identity struct {
	user      user.Info
	manager   string // of the fields that it sets; also the program that it is part of
	userAgent string
	// discovers: the controller writes in the preferred version of a kind, as a
	// client does that learns kinds from discovery. Otherwise it writes in the stored one.
	discovers bool
}

// APIServer is the server itself.
var APIServer = (Identity{manager: "kube-apiserver", user: &user.DefaultInfo{
	Name:   "system:apiserver",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}}).withUserAgent()

// ServiceAccount returns a controller of kube-controller-manager, which has a service account of
// its own in kube-system.
func ServiceAccount(name string) Identity {
	return (Identity{manager: "kube-controller-manager", discovers: true, user: &user.DefaultInfo{
		Name:   "system:serviceaccount:kube-system:" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
	}}).withUserAgent()
}

// User is who the controller is for the API.
func (i Identity) User() user.Info { return i.user }

// Manager is the manager of the fields that the controller sets, unless it applies.
func (i Identity) Manager() string { return i.manager }

// UserAgent is what the controller calls itself in its requests. As in a cluster whose
// kube-controller-manager uses a service account for each controller, that of a service account names it.
func (i Identity) UserAgent() string { return i.userAgent }

// withUserAgent returns the identity with its user agent.
func (i Identity) withUserAgent() Identity {
	v := release.Info()
	i.userAgent = fmt.Sprintf("%s/%s (%s) kubernetes/unknown", i.manager, v.GitVersion, v.Platform) // the commit is not known
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

// preferred returns the version that a client uses if it learns kinds from discovery.
func preferred(res *resource.Resource) *resource.Version {
	if i := slices.IndexFunc(res.Versions, func(v *resource.Version) bool { return v.Served }); i >= 0 {
		return res.Versions[i]
	}
	return res.Storage
}
