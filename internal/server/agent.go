package server

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// Agent is the identity of one of the server's own controllers.
type Agent struct {
	user    user.Info
	manager string // of the fields that it sets; also the program that it is part of
	agent   string // its user agent
	// prefers says that the controller writes in the preferred version of a kind, as a
	// client does that learns kinds from discovery. Otherwise it writes in the stored one.
	prefers bool
}

var (
	// apiServer is the server itself.
	apiServer = (Agent{manager: "kube-apiserver", user: &user.DefaultInfo{
		Name:   "system:apiserver",
		Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}}).named()
	garbageCollector    = managed("generic-garbage-collector")
	namespaceController = managed("namespace-controller")
	migrator            = managed("storage-version-migrator-controller")
	policyController    = managed("validatingadmissionpolicy-status-controller")
	quotaController     = managed("resourcequota-controller")
)

// managed returns a controller of kube-controller-manager, which has a service account of
// its own.
func managed(serviceAccount string) Agent {
	return (Agent{manager: "kube-controller-manager", prefers: true, user: &user.DefaultInfo{
		Name:   "system:serviceaccount:kube-system:" + serviceAccount,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
	}}).named()
}

// User is who the controller is for the API. UserAgent is what it calls itself in its requests: as in
// a cluster whose kube-controller-manager uses a service account for each controller, that of a
// service account names it.
func (a Agent) User() user.Info   { return a.user }
func (a Agent) UserAgent() string { return a.agent }

// named returns the controller with its user agent.
func (a Agent) named() Agent {
	v := discovery.Version
	a.agent = fmt.Sprintf("%s/%s (%s) kubernetes/unknown", a.manager, v.GitVersion, v.Platform) // no commit is known
	if name := a.user.GetName(); strings.HasPrefix(name, "system:serviceaccount:") {
		a.agent += "/" + name
	}
	return a
}

// keeperOf returns the controller that writes to the objects of a resource.
func (r *reactions) keeperOf(res *resource.Resource) Agent {
	switch res.GroupResource() {
	case r.namespaces.GroupResource():
		return namespaceController
	case schema.GroupResource{Group: storagemigrationv1.GroupName, Resource: "storageversionmigrations"}:
		return migrator
	case schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}:
		return policyController
	case r.quota.Resource.GroupResource():
		return quotaController
	}
	return apiServer
}

// write is the request for a write of the controller. The caller adds the change.
func (a Agent) write(res *resource.Resource, namespace, name string) write.Request {
	w := write.Request{Version: written(res), Namespace: namespace, Name: name, Manager: a.manager}
	if a.prefers {
		w.Version = preferred(res)
	}
	return w
}

// preferred returns the version that a client uses if it learns kinds from discovery.
func preferred(res *resource.Resource) *resource.Version {
	if i := slices.IndexFunc(res.Versions, func(v *resource.Version) bool { return v.Served }); i >= 0 {
		return res.Versions[i]
	}
	return res.Storage
}

// written returns the version that the server itself writes in: the stored one, if it is
// served.
func written(res *resource.Resource) *resource.Version {
	if res.Storage.Served {
		return res.Storage
	}
	return preferred(res)
}
