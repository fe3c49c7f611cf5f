package builtin

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func TestInitialObjectsAreOfTheNetwork(t *testing.T) {
	type seen struct{ Range, Service, Address, TargetPort, Endpoints, EndpointPort, Slice, SlicePort string }
	for _, c := range []struct {
		rule    string
		network Network
		want    seen
	}{
		{"without options", Network{}, seen{`["10.0.0.0/24"]`, "10.0.0.1", "10.0.0.1", "6443", "192.0.2.1", "6443", "192.0.2.1", "6443"}},
		{"the range, the address and the port are given",
			Network{Services: netip.MustParsePrefix("10.96.0.0/12"), Server: netip.MustParseAddr("192.0.2.9"), Port: 12345},
			seen{`["10.96.0.0/12"]`, "10.96.0.1", "10.96.0.1", "12345", "192.0.2.9", "12345", "192.0.2.9", "12345"}},
		{"two families", Network{Services: netip.MustParsePrefix("10.96.0.0/12"), Secondary: netip.MustParsePrefix("fd00::/108")},
			seen{`["10.96.0.0/12","fd00::/108"]`, "10.96.0.1", "10.96.0.1", "6443", "192.0.2.1", "6443", "192.0.2.1", "6443"}},
		{"IPv6", Network{Services: netip.MustParsePrefix("fd00::/108")},
			seen{`["fd00::/108"]`, "fd00::1", "fd00::1", "6443", "2001:db8:ffff::1", "6443", "2001:db8:ffff::1", "6443"}},
		{"no Endpoints have a loopback address", Network{Server: netip.MustParseAddr("127.0.0.1"), Port: 2000},
			seen{`["10.0.0.0/24"]`, "10.0.0.1", "10.0.0.1", "2000", "", "", "", ""}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got seen
			last := ""
			for _, r := range InitialRecords(Options{Network: c.network}, time.Unix(0, 0), func() string { return "u" }, 2) {
				if r.Key <= last {
					t.Errorf("%s comes after %s", r.Key, last)
				}
				last = r.Key
				text := func(path string) string { return gjson.Get(r.Value, path).String() }
				switch {
				case strings.HasPrefix(r.Key, "/registry/servicecidrs/"):
					got.Range = text("spec.cidrs")
				case r.Key == "/registry/services/default/kubernetes":
					got.Service, got.TargetPort = text("spec.clusterIP"), text("spec.ports.0.targetPort")
					if first := text("spec.clusterIPs.0"); first != got.Service {
						t.Errorf("clusterIPs begin with %s", first)
					}
					if port := text("spec.ports.0.port"); port != "443" {
						t.Errorf("the port is %s", port)
					}
				case strings.HasPrefix(r.Key, "/registry/ipaddresses/"):
					got.Address = text("metadata.name")
					if r.Key != "/registry/ipaddresses/"+got.Address {
						t.Errorf("%s has the key %s", got.Address, r.Key)
					}
				case r.Key == "/registry/endpoints/default/kubernetes":
					got.Endpoints, got.EndpointPort = text("subsets.0.addresses.0.ip"), text("subsets.0.ports.0.port")
				case r.Key == "/registry/endpointslices/default/kubernetes":
					got.Slice, got.SlicePort = text("endpoints.0.addresses.0"), text("ports.0.port")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestServiceRangesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"10.96.0.0/12":            "10.96.0.0/12",
		"10.96.0.7/24":            "10.96.0.0/24",
		"10.0.0.0/8":              "10.0.0.0/8",
		"10.0.0.0/24,fd00::7/108": "10.0.0.0/24 and fd00::/108",
		"fd00::/108,10.0.0.0/24":  "fd00::/108 and 10.0.0.0/24",
		"fd00::/64":               "fd00::/64",
		"fd00::/63":               "error determining service IP ranges for primary service cidr: shortest allowed prefix length for service CIDR is 64, got 63",
		"fd00::/126":              "error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses",
		"10.0.0.0/24,fd00::/108,": "--service-cluster-ip-range must not contain more than two entries",
		"10.0.0.0/30":             "error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses",
		"ten":                     "service-cluster-ip-range[0] is not a valid cidr",
		"10.0.0.0/24/7":           "service-cluster-ip-range[0] is not a valid cidr",
		"10.0.0.0/24, fd00::/108": "service-cluster-ip-range[1] is not an ip net",
		"10.0.0.0/24,fd00::/126":  "service-cluster-ip-range[1]: the service cluster IP range must be at least 8 IP addresses",
		"10.0.0.0/24,10.1.0.0/24": "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
	} {
		primary, secondary, err := ParseServiceRanges(text)
		got := primary.String()
		if secondary.IsValid() {
			got += " and " + secondary.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
