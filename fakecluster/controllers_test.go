package fakecluster_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestOnlyNamedControllersAct(t *testing.T) {
	for _, c := range []struct {
		name                        string
		options                     []fakecluster.Option
		emptiesNamespaces, collects bool
	}{
		{"by default the one of namespaces", nil, true, false},
		{"none", []fakecluster.Option{fakecluster.WithControllers()}, false, false},
		{"garbage collection alone", []fakecluster.Option{fakecluster.WithControllers(fakecluster.GarbageCollector)}, false, true},
		{"both", []fakecluster.Option{fakecluster.WithControllers(fakecluster.GarbageCollector, fakecluster.NamespaceController)}, true, true},
		{"one more than by default", []fakecluster.Option{withCollection()}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cluster := range []*fakecluster.Cluster{fakecluster.Start(t, append(c.options, fakecluster.InProcess())...), fakecluster.Start(t, append(c.options, fakecluster.InProcess())...).Fork(t)} {
				everywhere := cluster.Dynamic().Resource(namespaces)
				create(t, everywhere, newNamespace("team"))
				remove(t, everywhere, "team")
				equal(t, "namespaces are emptied", !slices.Contains(names(list(t, everywhere)), "team"), c.emptiesNamespaces)

				inDefault := cluster.Dynamic().Resource(configMaps).Namespace("default")
				owned := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
					"name": "a", "ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "u"}},
				}}}
				create(t, inDefault, owned)
				equal(t, "garbage is collected", !slices.Contains(names(list(t, inDefault)), "a"), c.collects)
			}
		})
	}
}

// withCollection has the garbage collector act besides those that do by default.
func withCollection() fakecluster.Option {
	return fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...)
}

func TestAControllerThatDoesNotActWithinAWriteIsAnError(t *testing.T) {
	var names []string
	for _, c := range fakecluster.AllControllers() {
		names = append(names, string(c))
	}
	last := len(names) - 1
	_, err := fakecluster.New(fakecluster.WithControllers("endpoints-controller"))
	fails(t, "New", err, `WithControllers: "endpoints-controller" is not a controller that acts within a write: `+strings.Join(names[:last], ", ")+` and `+names[last]+` are; `+
		`another one of kube-controller-manager runs with workloads.Run(t, c, workloads.Controllers("endpoints-controller"))`)
}
