package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	netutils "k8s.io/utils/net"
)

var ipAddresses = kind{networkingv1.GroupName, "ipaddresses"}

// addressRepair frees the cluster IPs that no Service has, as upstream does (pkg/registry/core/service/ipallocator/controller).
// An IPAddress is created before its Service and deleted after it, so that a fork or a snapshot can fall between the two.
func addressRepair() *controller {
	return &controller{
		identity: APIServer,
		catchUp:  func(s *step, _ int64) error { return enqueueAfter(s, ipAddresses, 0) },
		sync: func(s *step, k key) error {
			address, err := find[*networkingv1.IPAddress](s, ipAddresses, "", k.name)
			if err != nil || address == nil || address.Labels[networkingv1.LabelManagedBy] != ipallocator.ControllerName {
				return err
			}
			parent := address.Spec.ParentRef
			if parent == nil || parent.Group != "" || parent.Resource != services.plural {
				return nil
			}
			service, err := find[*corev1.Service](s, services, parent.Namespace, parent.Name)
			if err != nil || service != nil && hasClusterIP(service, address.Name) {
				return err
			}
			return s.delete(ipAddresses, address, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &address.UID}})
		},
	}
}

// hasClusterIP reports whether a Service has a cluster IP, which is in its canonical form.
func hasClusterIP(service *corev1.Service, address string) bool {
	return service.Spec.Type != corev1.ServiceTypeExternalName &&
		slices.ContainsFunc(service.Spec.ClusterIPs, func(ip string) bool { return netutils.ParseIPSloppy(ip).String() == address })
}
