package fakecluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// addressesOf makes a service and returns its families and the ranges of its addresses.
func addressesOf(t *testing.T, c *fakecluster.Cluster, name string, spec corev1.ServiceSpec) string {
	t.Helper()
	spec.Ports = []corev1.ServicePort{{Port: 80}}
	s, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	said := string(*s.Spec.IPFamilyPolicy)
	for i, ip := range s.Spec.ClusterIPs {
		said += " " + string(s.Spec.IPFamilies[i]) + "=" + ip[:strings.LastIndexAny(ip, ".:")]
		if _, err := kubernetes.NewForConfigOrDie(c.RESTConfig()).NetworkingV1().IPAddresses().Get(t.Context(), ip, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	return said
}

func TestServicesOfTwoFamilies(t *testing.T) {
	start := func(ranges string) *fakecluster.Cluster {
		return fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--service-cluster-ip-range="+ranges))
	}
	policy := func(p corev1.IPFamilyPolicy) corev1.ServiceSpec { return corev1.ServiceSpec{IPFamilyPolicy: &p} }
	both := start("10.1.2.0/24,fd00::/120")
	expectText(t, "a service gets an address of the first family", addressesOf(t, both, "one", corev1.ServiceSpec{}), "SingleStack IPv4=10.1.2")
	expectText(t, "one of both families gets two", addressesOf(t, both, "two", policy(corev1.IPFamilyPolicyRequireDualStack)), "RequireDualStack IPv4=10.1.2 IPv6=fd00:")
	expectText(t, "one may prefer both", addressesOf(t, both, "prefers", policy(corev1.IPFamilyPolicyPreferDualStack)), "PreferDualStack IPv4=10.1.2 IPv6=fd00:")
	expectText(t, "one may ask for the second family", addressesOf(t, both, "other", corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}}), "SingleStack IPv6=fd00:")
	// A Service gets one of the first sixteen addresses only if it requests it.
	expectText(t, "or for a certain address", addressesOf(t, both, "fixed", corev1.ServiceSpec{ClusterIP: "fd00::a"}), "SingleStack IPv6=fd00:")
	expectText(t, "which is taken then", addressesOf(t, both, "again", corev1.ServiceSpec{ClusterIP: "fd00::a"}),
		`Service "again" is invalid: spec.clusterIPs: Invalid value: ["fd00::a"]: failed to allocate IP fd00::a: provided IP is already allocated`)
	six := start("fd00::/64")
	expectText(t, "a cluster of IPv6 alone", addressesOf(t, six, "one", corev1.ServiceSpec{})[:len("SingleStack IPv6=fd00:")], "SingleStack IPv6=fd00:")
	expectText(t, "has no IPv4", addressesOf(t, six, "four", corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}}),
		`Service "four" is invalid: spec.ipFamilies[0]: Invalid value: "IPv4": not configured on this cluster`)
	server, err := kubernetes.NewForConfigOrDie(six.RESTConfig()).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expectText(t, "the server's own service", server.Spec.ClusterIP, "fd00::1")
	_, err = fakecluster.New(fakecluster.WithAPIServerFlags("--service-cluster-ip-range=fd00::/64", "--advertise-address=192.0.2.7"))
	expectText(t, "the server is of the same family", strings.TrimPrefix(err.Error(), "WithAPIServerFlags: "), `service IP family "fd00::/64" must match public address family "192.0.2.7"`)
}
