package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	certificatesapi "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/utils/clock"
)

// This file has the tables of the groups for authorization and certificates.

var rbac = group{name: "rbac.authorization.k8s.io", kinds: []kind{
	{
		kind: "ClusterRoleBinding", plural: "clusterrolebindings", singular: "clusterrolebinding",
		clusterScoped: true, versions: v1, strategy: clusterrolebinding.Strategy, mayWrite: mayBindRoleClusterWide, deletesReadable: true,
	},
	{
		kind: "ClusterRole", plural: "clusterroles", singular: "clusterrole",
		clusterScoped: true, versions: v1, strategy: clusterrole.Strategy, mayWrite: mayGrantClusterRole, deletesReadable: true, table: plain("rbac.authorization.k8s.io", "clusterroles"),
	},
	{
		kind: "RoleBinding", plural: "rolebindings", singular: "rolebinding",
		versions: v1, strategy: rolebinding.Strategy, mayWrite: mayBindRole, deletesReadable: true,
	},
	{
		kind: "Role", plural: "roles", singular: "role",
		versions: v1, strategy: role.Strategy, mayWrite: mayGrantRole, deletesReadable: true, table: plain("rbac.authorization.k8s.io", "roles"),
	},
}}

var podCertificates = podcertificaterequest.NewStrategy()

var certificateKinds = group{name: "certificates.k8s.io", kinds: []kind{
	{
		kind: "CertificateSigningRequest", plural: "certificatesigningrequests", singular: "certificatesigningrequest", short: []string{"csr"},
		clusterScoped: true, versions: v1, strategy: certificates.Strategy, attributes: certificates.GetAttrs,
		subresources: map[string]subresource{
			"approval": {strategy: certificates.ApprovalStrategy, noTable: true},
			"status":   {strategy: certificates.StatusStrategy},
		},
	},
	{
		kind: "ClusterTrustBundle", plural: "clustertrustbundles", singular: "clustertrustbundle", gate: features.ClusterTrustBundle,
		clusterScoped: true, versions: v1, optional: []string{"v1beta1"}, stored: "v1beta1",
		strategy: clustertrustbundle.Strategy, attributes: clusterTrustBundleAttributes,
	},
	{
		kind: "PodCertificateRequest", plural: "podcertificaterequests", singular: "podcertificaterequest", gate: features.PodCertificateRequest,
		versions: v1, optional: []string{"v1beta1"}, stored: "v1beta1",
		strategy: podCertificates, attributes: podCertificateRequestAttributes,
		subresources: status(podcertificaterequest.NewStatusStrategy(podCertificates, contextAuthorizer{}, clock.RealClock{})),
	},
}}

// clusterTrustBundleAttributes and podCertificateRequestAttributes return the labels and fields for selectors. Upstream
// does not export its functions for these kinds.

func clusterTrustBundleAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	bundle, ok := obj.(*certificatesapi.ClusterTrustBundle)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a ClusterTrustBundle", obj)
	}
	set := generic.ObjectMetaFieldsSet(&bundle.ObjectMeta, false)
	set["spec.signerName"] = bundle.Spec.SignerName
	return bundle.Labels, set, nil
}

func podCertificateRequestAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	request, ok := obj.(*certificatesapi.PodCertificateRequest)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a PodCertificateRequest", obj)
	}
	set := generic.ObjectMetaFieldsSet(&request.ObjectMeta, true)
	set["spec.signerName"] = request.Spec.SignerName
	set["spec.podName"] = request.Spec.PodName
	set["spec.nodeName"] = string(request.Spec.NodeName)
	return request.Labels, set, nil
}
