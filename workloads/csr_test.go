package workloads_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

// request creates the request "one" for the client certificate of a user. Users of the group system:nodes may have theirs approved.
func (w world) request(user string, groups ...string) {
	w.Helper()
	w.create(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: requests}
rules: [{apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: requests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: requests}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: approve}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:nodes"}]`)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: groups}}, key)
	if err != nil {
		w.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	client := kubernetes.NewForConfigOrDie(w.cluster.ConfigFor(user, groups...))
	if _, err := client.CertificatesV1().CertificateSigningRequests().Create(w.Context(), csr, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.pass(0)
}

// indexOf returns the index of the first object whose name has a prefix, or -1.
func indexOf(objects []unstructured.Unstructured, prefix string) int {
	for i := range objects {
		if strings.HasPrefix(objects[i].GetName(), prefix) {
			return i
		}
	}
	return -1
}
