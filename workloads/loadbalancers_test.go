package workloads_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/workloads"
)

// balanced is a Service with a load balancer.
func balanced(name, more string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec:\n  type: LoadBalancer\n  ports: [{port: 80}]\n" + indent(more)
}

// addresses returns the addresses of the load balancer of a Service, as a list in YAML.
func (w world) addresses(name string) string {
	w.Helper()
	var addresses []string
	for line := range strings.Lines(field(w.object("services", name), "status.loadBalancer.ingress")) {
		if _, ip, ok := strings.Cut(line, "ip: "); ok {
			addresses = append(addresses, strings.TrimSpace(ip))
		}
	}
	return strings.Join(addresses, " ")
}

func TestLoadBalancers(t *testing.T) {
	const finalizer = "service.kubernetes.io/load-balancer-cleanup"
	for _, c := range []struct {
		name string // the rule
		test func(w world)
	}{
		{"a Service gets an address, a finalizer and Events", func(w world) {
			w.create(balanced("web", ""))
			s := w.object("services", "web")
			if got := field(s, "status.loadBalancer.ingress"); got != "- ip: 192.0.2.1\n  ipMode: VIP" {
				w.Errorf("the status is %s", got)
			}
			if got := s.GetFinalizers(); len(got) != 1 || got[0] != finalizer {
				w.Errorf("the finalizers are %v", got)
			}
			want := []string{"EnsuringLoadBalancer: Ensuring load balancer", "EnsuredLoadBalancer: Ensured load balancer"}
			if diff := cmp.Diff(want, w.events("web")); diff != "" {
				w.Errorf("Events (-want +got):\n%s", diff)
			}
		}},
		{"each Service has an address of its own, and a free one is used again", func(w world) {
			w.create(balanced("a", "") + "---\n" + balanced("b", "") + "---\n" + balanced("c", ""))
			w.delete("services", "b")
			if w.find("services", "b") != nil {
				w.Error("the Service b is still there")
			}
			w.isLogged("b", "DeletedLoadBalancer: Deleted load balancer")
			w.create(balanced("d", "") + "---\n" + balanced("e", ""))
			for name, want := range map[string]string{"a": "192.0.2.1", "c": "192.0.2.3", "d": "192.0.2.2", "e": "192.0.2.4"} {
				if got := w.addresses(name); got != want {
					w.Errorf("the address of %s is %s instead of %s", name, got, want)
				}
			}
		}},
		{"a Service of another type has none", func(w world) {
			w.create(balanced("web", ""))
			w.patch("services", "web", `{"spec": {"type": "ClusterIP"}}`)
			s := w.object("services", "web")
			if got := field(s, "status.loadBalancer.ingress"); got != "" || len(s.GetFinalizers()) > 0 {
				w.Errorf("the addresses are %s, and the finalizers %v", got, s.GetFinalizers())
			}
			w.isLogged("web", "DeletingLoadBalancer: Deleting load balancer")
		}},
		{"a Service with a class is left alone", func(w world) {
			w.create(balanced("web", "loadBalancerClass: example.com/mine"))
			s := w.object("services", "web")
			if got := field(s, "status.loadBalancer.ingress"); got != "" || len(s.GetFinalizers()) > 0 || len(w.events("web")) > 0 {
				w.Errorf("the addresses are %s, the finalizers %v, and the Events %v", got, s.GetFinalizers(), w.events("web"))
			}
		}},
		{"spec.loadBalancerIP is the address, unless another Service has it", func(w world) {
			w.create(balanced("a", "loadBalancerIP: 192.0.2.9") + "---\n" + balanced("b", "loadBalancerIP: 192.0.2.9"))
			if got := w.addresses("a") + "," + w.addresses("b"); got != "192.0.2.9," {
				w.Errorf("the addresses are %s", got)
			}
			w.isLogged("b", "SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: another Service has the address 192.0.2.9 of spec.loadBalancerIP")
			w.delete("services", "a")
			w.pass(5 * time.Minute)
			if got := w.addresses("b"); got != "192.0.2.9" {
				w.Errorf("the address of b is %s", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.test, workloads.Nodes(2))
		})
	}
}

func TestLoadBalancersWithoutNodes(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(balanced("web", ""))
		w.isLogged("web", "UnAvailableLoadBalancer: There are no available nodes for LoadBalancer")
		if got := w.addresses("web"); got != "192.0.2.1" {
			w.Errorf("the address is %s", got)
		}
	})
}

func TestLoadBalancersOfAForkKeepTheirAddresses(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(balanced("a", "") + "---\n" + balanced("b", ""))
		w.delete("services", "a")
		fork := w.cluster.Fork(w.T)
		f := world{w.T, workloads.Run(w.T, fork), fork, kubernetes.NewForConfigOrDie(fork.RESTConfig())}
		f.create(balanced("c", "") + "---\n" + balanced("d", ""))
		if got := f.addresses("b") + " " + f.addresses("c") + " " + f.addresses("d"); got != "192.0.2.2 192.0.2.1 192.0.2.3" {
			w.Errorf("the addresses of b, c and d are %s", got)
		}
	})
}
