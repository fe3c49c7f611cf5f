package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestEndpointsAreCutToTheirCapacity(t *testing.T) {
	//lint:ignore SA1019 the controller still keeps Endpoints
	subsets := func(of ...[2]int) (all []corev1.EndpointSubset) {
		for _, n := range of {
			//lint:ignore SA1019 as above
			all = append(all, corev1.EndpointSubset{
				Addresses: make([]corev1.EndpointAddress, n[0]), NotReadyAddresses: make([]corev1.EndpointAddress, n[1]),
			})
		}
		return all
	}
	for _, c := range []struct {
		rule string
		of   [][2]int // how many addresses of each subset are ready, and how many are not
		want string
		cut  bool
	}{
		{"a thousand stay", [][2]int{{600, 400}}, "[600 400]", false},
		{"ready ones come first", [][2]int{{900, 200}}, "[900 100]", true},
		{"others go if there are enough ready ones", [][2]int{{1100, 5}}, "[1000 0]", true},
		{"each subset keeps its share", [][2]int{{1500, 0}, {500, 0}}, "[750 0][250 0]", true},
		{"shares are rounded up until nothing is left", [][2]int{{0, 1}, {0, 1}, {0, 1000}}, "[0 1][0 1][0 998]", true},
	} {
		all := subsets(c.of...)
		cut := truncate(all)
		got := ""
		for _, s := range all {
			got += fmt.Sprintf("[%d %d]", len(s.Addresses), len(s.NotReadyAddresses))
		}
		if got != c.want || cut != c.cut {
			t.Errorf("%s: %s, cut %t; want %s, cut %t", c.rule, got, cut, c.want, c.cut)
		}
	}
}
