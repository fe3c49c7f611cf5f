package realcrds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// BenchmarkInstall creates the largest definitions of cluster-api, each in a
// cluster of its own: cold, with schemas that the process has not seen, and warm,
// with those of the round before. The bodies are ready; what is measured is the
// request in process, until the definition is established.
func BenchmarkInstall(b *testing.B) {
	b.Chdir("..") // where the modules are looked for
	manifests, err := shipped(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	manifests = slices.DeleteFunc(manifests, func(m manifest) bool { return m.module != "sigs.k8s.io/cluster-api" })
	bodies := map[string][]byte{}
	for _, m := range manifests {
		body, err := json.Marshal(m.object)
		if err != nil {
			b.Fatal(err)
		}
		bodies[m.object.GetName()] = body
	}
	names := slices.SortedFunc(slices.Values(manifests), func(x, y manifest) int {
		return len(bodies[y.object.GetName()]) - len(bodies[x.object.GetName()])
	})
	for _, m := range slices.CompactFunc(names, func(x, y manifest) bool { return x.object.GetName() == y.object.GetName() })[:3] {
		name := m.object.GetName()
		b.Run("cold/"+name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				fresh := bytes.ReplaceAll(bodies[name], []byte(`"openAPIV3Schema":{`), fmt.Appendf(nil, `"openAPIV3Schema":{"title":"%d of %d",`, n, b.N))
				b.StartTimer()
				post(b, fresh)
			}
		})
		b.Run("warm/"+name, func(b *testing.B) {
			post(b, bodies[name])
			for b.Loop() {
				post(b, bodies[name])
			}
		})
	}
}

// post creates a definition in a new cluster. The making of the cluster is not
// timed.
func post(b *testing.B, body []byte) {
	b.StopTimer()
	cluster, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		b.StopTimer()
		cluster.Close()
		b.StartTimer()
	}()
	client, err := rest.HTTPClientFor(cluster.RESTConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	resp, err := client.Post(cluster.URL()+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		b.Fatal(resp.Status)
	}
}
