package controlplane

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestCloudGivesAddresses(t *testing.T) {
	c := newCloud(corelisters.NewServiceLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)))
	ensure := func(uid string, families ...corev1.IPFamily) ([]string, error) {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Spec: corev1.ServiceSpec{IPFamilies: families}}
		status, err := c.EnsureLoadBalancer(t.Context(), "", s, nil)
		if err != nil {
			return nil, err
		}
		var lines []string
		for _, i := range status.Ingress {
			lines = append(lines, i.IP)
		}
		return lines, nil
	}
	for _, step := range []struct {
		uid      string
		families []corev1.IPFamily
		want     []string
	}{
		{"a", []corev1.IPFamily{corev1.IPv6Protocol}, []string{"2001:db8::1"}},
		{"b", []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, []string{"2001:db8::2", "192.0.2.1"}},
		{"a", []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, []string{"2001:db8::1", "192.0.2.2"}},
		{"b", []corev1.IPFamily{corev1.IPv6Protocol}, []string{"2001:db8::2"}},
		{"c", []corev1.IPFamily{corev1.IPv4Protocol}, []string{"192.0.2.1"}},
	} {
		if got, err := ensure(step.uid, step.families...); err != nil || !slices.Equal(got, step.want) {
			t.Errorf("the addresses of %s are %v instead of %v; %v", step.uid, got, step.want, err)
		}
	}
	for i := range 3*254 - 2 {
		if _, err := ensure(fmt.Sprint(i), corev1.IPv4Protocol); err != nil {
			t.Fatalf("Service %d: %v", i, err)
		}
	}
	const want = "all addresses of the family IPv4 are taken: [192.0.2.0/24 198.51.100.0/24 203.0.113.0/24]"
	if _, err := ensure("more", corev1.IPv4Protocol); err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}
