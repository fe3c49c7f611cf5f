package rest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/store"
)

const (
	servicesPath    = "/api/v1/namespaces/default/services"
	ipAddressesPath = "/apis/networking.k8s.io/v1/ipaddresses"
)

// service is the JSON of a service with the further fields of its spec.
func service(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q},"spec":{%s"ports":[{"port":80}]}}`, name, spec)
}

// createService creates a service, and returns it with the code of the answer.
func (c *cluster) createService(body string) (s corev1.Service, code int, message string) {
	a := c.serve("POST", servicesPath, jsonBody, []byte(body))
	if a.code == 201 {
		if err := json.Unmarshal([]byte(a.body), &s); err != nil {
			c.t.Error(err)
		}
		return s, a.code, ""
	}
	var status metav1.Status
	if err := json.Unmarshal([]byte(a.body), &status); err != nil {
		c.t.Error(err)
	}
	return s, a.code, status.Message
}

// addresses are the names of all IPAddresses.
func (c *cluster) addresses() (names []string) {
	c.t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal([]byte(c.serve("GET", ipAddressesPath, nil, nil).body), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

func TestOneOfManyServicesHasAnAddressAndAPort(t *testing.T) {
	c := startInProcess(t)
	before := len(c.addresses())
	var wg sync.WaitGroup
	codes := make([]int, 16)
	for i := range codes {
		wg.Go(func() {
			port := `"type":"NodePort","ports":[{"port":80,"nodePort":30500}]`
			if i%2 == 0 {
				port = `"clusterIP":"10.0.0.9","type":"NodePort","ports":[{"port":80,"nodePort":30500}]`
			}
			_, codes[i], _ = c.createService(fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s%d"},"spec":{%s}}`, i, port))
		})
	}
	wg.Wait()
	created := 0
	for _, code := range codes {
		if code == 201 {
			created++
		} else {
			expect(t, "refused", code, 422)
		}
	}
	expect(t, "created", created, 1)
	expect(t, "addresses", len(c.addresses())-before, 1)
}

// TestAllAddressesAreGivenOnce: the last ones are those that are kept for who asks for one.
func TestAllAddressesAreGivenOnce(t *testing.T) {
	c := startInProcess(t)
	free := 254 - len(c.addresses())
	const kept = 15 // from 10.0.0.2 to 10.0.0.16
	var mu sync.Mutex
	seen := map[int]bool{}
	// create makes the services from one number up to another, all at once, and their addresses are or are not those that are kept.
	create := func(from, to int, areKept bool) {
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := from + worker; i < to; i += 4 {
					s, code, message := c.createService(service(fmt.Sprint("s", i), ""))
					if code != 201 {
						t.Errorf("service %d of %d: %d %s", i, free, code, message)
						return
					}
					mu.Lock()
					var last int
					if _, err := fmt.Sscanf(s.Spec.ClusterIP, "10.0.0.%d", &last); err != nil || seen[last] || last < 17 != areKept {
						t.Errorf("service %d of %d has the address %q, which is taken: %t", i, free, s.Spec.ClusterIP, seen[last])
					}
					seen[last] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
	create(0, free-kept, false)
	create(free-kept, free, true)
	_, code, message := c.createService(service("full", ""))
	expect(t, "code", code, 500)
	expect(t, "message", message, `Internal error occurred: failed to allocate a serviceIP for Service "full": range is full`)
	expect(t, "deleted", c.serve("DELETE", servicesPath+"/s0", nil, nil).code, 200)
	if _, code, message = c.createService(service("full", "")); code != 201 {
		t.Error(message)
	}
}

// TestAnUpdateThatLosesFreesWhatItTook: of concurrent updates each attempt takes its port
// anew, and in the end one port is taken.
func TestAnUpdateThatLosesFreesWhatItTook(t *testing.T) {
	c := startInProcess(t)
	if _, code, message := c.createService(service("s", `"type":"NodePort",`)); code != 201 {
		t.Fatal(message)
	}
	patch := map[string][]string{"Content-Type": {"application/merge-patch+json"}}
	var wg sync.WaitGroup
	for port := 31000; port < 31020; port++ {
		wg.Go(func() {
			a := c.serve("PATCH", servicesPath+"/s", patch, fmt.Appendf(nil, `{"spec":{"ports":[{"port":80,"nodePort":%d}]}}`, port))
			if a.code != 200 {
				t.Errorf("port %d: %d %s", port, a.code, a.body)
			}
		})
	}
	wg.Wait()
	var s corev1.Service
	if err := json.Unmarshal([]byte(c.serve("GET", servicesPath+"/s", nil, nil).body), &s); err != nil {
		t.Fatal(err)
	}
	for port := int32(31000); port < 31020; port++ {
		want := 201
		if port == s.Spec.Ports[0].NodePort {
			want = 422
		}
		_, code, _ := c.createService(fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"p%d"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%d}]}}`, port, port))
		expect(t, fmt.Sprint("a service with port ", port), code, want)
	}
}

func TestAForkHasItsOwnAddresses(t *testing.T) {
	c := startInProcess(t)
	taken := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"%s"},"spec":{"clusterIP":"10.0.0.%d","type":"NodePort","ports":[{"port":80,"nodePort":%d}]}}`
	if _, code, message := c.createService(fmt.Sprintf(taken, "a", 10, 30010)); code != 201 {
		t.Fatal(message)
	}
	f := c.fork(t)
	for _, tt := range []struct {
		rule     string
		cluster  *cluster
		name     string
		ip, port int
		code     int
	}{
		{"what was taken before is taken in the fork", f, "b", 11, 30010, 422},
		{"and so is the address", f, "b", 10, 30011, 422},
		{"the fork takes others", f, "b", 11, 30011, 201},
		{"which are free in the first cluster", c, "b", 11, 30011, 201},
	} {
		_, code, message := tt.cluster.createService(fmt.Sprintf(taken, tt.name, tt.ip, tt.port))
		expect(t, tt.rule+" "+message, code, tt.code)
	}
	expect(t, "deleted in the fork", f.serve("DELETE", servicesPath+"/a", nil, nil).code, 200)
	_, code, _ := f.createService(fmt.Sprintf(taken, "c", 10, 30010))
	expect(t, "free in the fork", code, 201)
	_, code, _ = c.createService(fmt.Sprintf(taken, "c", 10, 30010))
	expect(t, "still taken in the first cluster", code, 422)
}

func TestASeedRepeatsAddressesAndPorts(t *testing.T) {
	given := func(seed uint64) string {
		c := startInProcess(t, func(o *options, _ *store.Options) { o.Seed = &seed })
		var names []string
		for i := range 5 {
			s, _, message := c.createService(service(fmt.Sprint("s", i), `"type":"NodePort",`))
			names = append(names, message, s.Spec.ClusterIP, fmt.Sprint(s.Spec.Ports[0].NodePort))
		}
		return strings.Join(names, " ")
	}
	first := given(7)
	expect(t, "with the same seed", given(7), first)
	if given(8) == first {
		t.Errorf("another seed gives the same: %s", first)
	}
}

func BenchmarkCreateService(b *testing.B) {
	c := startInProcess(b)
	for b.Loop() {
		if _, code, message := c.createService(service("s", "")); code != 201 {
			b.Fatal(message)
		}
		if a := c.serve("DELETE", servicesPath+"/s", nil, nil); a.code != 200 {
			b.Fatal(a.body)
		}
	}
}
