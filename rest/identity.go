package rest

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// controller is the identity of one of the server's own controllers.
type controller struct {
	user    user.Info
	manager string // of the fields that it sets; also the program that it is part of
	agent   string // its user agent
	// prefers says that the controller writes in the preferred version of a kind, as a
	// client does that learns kinds from discovery. Otherwise it writes in the stored one.
	prefers bool
}

var (
	// apiServer is the server itself.
	apiServer = (controller{manager: "kube-apiserver", user: &user.DefaultInfo{
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
func managed(serviceAccount string) controller {
	return (controller{manager: "kube-controller-manager", prefers: true, user: &user.DefaultInfo{
		Name:   "system:serviceaccount:kube-system:" + serviceAccount,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
	}}).named()
}

// keeperOf returns the controller that writes to the objects of a resource.
func (r reactions) keeperOf(res *resource.Resource) controller {
	switch res.GroupResource() {
	case r.namespaces.GroupResource():
		return namespaceController
	case schema.GroupResource{Group: storagemigrationv1.GroupName, Resource: "storageversionmigrations"}:
		return migrator
	case schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}:
		return policyController
	case r.quotas.resource.GroupResource():
		return quotaController
	}
	return apiServer
}

// write is the request for a write of the controller. The caller adds the change.
func (c controller) write(res *resource.Resource, namespace, name string) write.Request {
	w := write.Request{Version: written(res), Namespace: namespace, Name: name, Manager: c.manager}
	if c.prefers {
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
