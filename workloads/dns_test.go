package workloads_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/workloads"
)

// show prints files, and what names are connected with, as lines.
func show(ctx context.Context, c *workloads.Container) error {
	for _, file := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		content, err := c.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s:\n%s", file, content)
	}
	for _, name := range c.Args {
		connection, err := c.Dial(ctx, "udp", name+":1")
		if err != nil {
			fmt.Fprintln(c.Stdout, err)
			continue
		}
		fmt.Fprintln(c.Stdout, name, "is", connection.RemoteAddr())
		_ = connection.Close()
	}
	<-ctx.Done()
	return nil
}

const podHosts = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
	"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"

// TestContainersFindNames proves that a pod has the files that a kubelet writes, and finds names by them.
func TestContainersFindNames(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(`
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 10.0.0.77, ports: [{port: 1, protocol: UDP}]}
`)
		for _, test := range []struct{ name, spec, resolv, hosts, found string }{
			{"plain", ``,
				"search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5\n",
				podHosts + "IP\tplain\n", "web is 10.0.0.77:1\nplain is IP:1\n"},
			{"named", `, hostname: me, subdomain: db, hostAliases: [{ip: 10.1.2.3, hostnames: [web, other]}]`,
				"search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5\n",
				podHosts + "IP\tme.db.default.svc.cluster.local\tme\n\n# Entries added by HostAliases.\n10.1.2.3\tweb\tother\n",
				"web is 10.1.2.3:1\ndial udp: lookup named on 10.0.0.10:53: no such host\n"},
			{"changed", `, dnsConfig: {nameservers: [192.0.2.8], searches: [example.com], options: [{name: ndots, value: "1"}, {name: edns0}]}`,
				"search default.svc.cluster.local svc.cluster.local cluster.local example.com\nnameserver 10.0.0.10\nnameserver 192.0.2.8\noptions edns0 ndots:1\n",
				podHosts + "IP\tchanged\n", "web is 10.0.0.77:1\nchanged is IP:1\n"},
			{"none", `, dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.8]}`,
				"nameserver 192.0.2.8\n",
				podHosts + "IP\tnone\n", "dial udp: lookup web on 192.0.2.8:53: no such host\nnone is IP:1\n"},
			{"node", `, dnsPolicy: Default`,
				"search .\nnameserver 127.0.0.1\n",
				podHosts + "IP\tnode\n", "dial udp: lookup web on 127.0.0.1:53: no such host\nnode is IP:1\n"},
			{"host", `, hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, hostAliases: [{ip: 10.1.2.3, hostnames: [host]}]`,
				"search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5\n",
				"# Kubernetes-managed hosts file (host network).\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::\tip6-localnet\n" +
					"ff00::\tip6-mcastprefix\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\nIP\tn1\n\n# Entries added by HostAliases.\n10.1.2.3\thost\n",
				"web is 10.0.0.77:1\nhost is 10.1.2.3:1\n"},
		} {
			w.post(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: app, args: [web, %[1]s]}]%s}
`, test.name, test.spec))
			w.pass(3 * time.Second)
			ip, _, _ := unstructured.NestedString(w.object("pods", test.name).Object, "status", "podIP")
			want := strings.ReplaceAll("/etc/resolv.conf:\n"+test.resolv+"/etc/hosts:\n"+test.hosts+test.found, "IP", ip)
			equal(t, test.name, w.log(test.name, corev1.PodLogOptions{}), want)
		}
	}, workloads.Nodes(1), workloads.Image("app", show))
}

// TestTooManyNameservers proves that an Event says what a pod has not got.
func TestTooManyNameservers(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("many", `{dnsConfig: {nameservers: [192.0.2.1, 192.0.2.2, 192.0.2.3]}, containers: [{name: app, image: app}]}`)
		w.pass(3 * time.Second)
		want := "DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.0.0.10 192.0.2.1 192.0.2.2"
		if got := w.events("many"); !slices.Contains(got, want) {
			t.Errorf("the events are\n%s\nwithout\n%s", strings.Join(got, "\n"), want)
		}
	}, workloads.Nodes(1))
}
