package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestNewSlicesHaveTheirEndpointsInOrder(t *testing.T) {
	slice := func(pods ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{}
		for _, p := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Name: p}})
		}
		return s
	}
	alike := []*discoveryv1.EndpointSlice{slice("d"), slice("c", "b"), slice("e", "a")}
	deal(alike)
	got := ""
	for _, s := range alike {
		for _, e := range s.Endpoints {
			got += e.TargetRef.Name
		}
		got += fmt.Sprintf("(%d) ", cap(s.Endpoints))
	}
	if want := "ab(2) cd(2) e(1) "; got != want {
		t.Errorf("slices of d, cb and ea have become %s, want %s", got, want)
	}
}
