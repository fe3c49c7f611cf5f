package authorization_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
)

// pod is one that is bound to a node and uses a Secret.
func pod(node, secret string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "1"},
		"spec": map[string]any{
			"nodeName": node,
			"volumes":  []any{map[string]any{"name": "v", "secret": map[string]any{"secretName": secret}}},
		},
	}
}

func TestNodesReadWhatTheirPodsNeed(t *testing.T) {
	modes, err := authorization.NewModes(authorization.Options{Modes: []string{authorization.Node, authorization.RBAC}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	by, err := modes.By(w.rules)
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(node, resource, namespace, name string) bool {
		t.Helper()
		decision, _, err := by.Authorize(context.Background(), authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "system:node:" + node, Groups: []string{"system:nodes"}}, APIGroup: map[string]string{"volumeattachments": "storage.k8s.io"}[resource],
			Verb: "get", Resource: resource, Namespace: namespace, Name: name, ResourceRequest: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return decision == authorizer.DecisionAllow
	}
	expect := func(rule string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: allowed is %t, want %t", rule, got, want)
		}
	}
	const key = "/registry/pods/shop/web"
	expect("before there is a Pod", allowed("a", "secrets", "shop", "password"), false)
	w.put(key, pod("", "password"))
	expect("a Pod without a node", allowed("a", "secrets", "shop", "password"), false)
	w.put(key, pod("a", "password"))
	expect("the node of the Pod", allowed("a", "secrets", "shop", "password"), true)
	expect("another node", allowed("b", "secrets", "shop", "password"), false)
	expect("another Secret", allowed("a", "secrets", "shop", "other"), false)
	expect("one of another namespace", allowed("a", "secrets", "default", "password"), false)
	w.put(key, nil)
	expect("the Pod has gone", allowed("a", "secrets", "shop", "password"), false)
	w.put(key, pod("b", "password"))
	for i := range 60 { // more than the history is long
		w.put(fmt.Sprintf("/registry/configmaps/shop/%d", i), map[string]any{})
	}
	expect("a Pod that is in no history any more", allowed("b", "secrets", "shop", "password"), true)

	volume := map[string]any{
		"metadata": map[string]any{"name": "disk"},
		"spec": map[string]any{
			"claimRef": map[string]any{"namespace": "shop", "name": "data"},
			"cephfs":   map[string]any{"secretRef": map[string]any{"name": "key", "namespace": "storage"}},
		},
	}
	w.put("/registry/persistentvolumes/disk", volume)
	claims := pod("b", "password")
	claims["spec"].(map[string]any)["volumes"] = []any{map[string]any{"name": "v", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}
	w.put(key, claims)
	expect("the volume of a claim of the Pod", allowed("b", "persistentvolumes", "", "disk"), true)
	expect("the Secret of that volume", allowed("b", "secrets", "storage", "key"), true)
	w.put("/registry/persistentvolumes/disk", nil)
	expect("the volume has gone", allowed("b", "secrets", "storage", "key"), false)

	expect("a VolumeAttachment that is not there", allowed("b", "volumeattachments", "", "va"), false)
	w.put("/registry/volumeattachments/va", map[string]any{"metadata": map[string]any{"name": "va"}, "spec": map[string]any{"nodeName": "b"}})
	expect("a VolumeAttachment of the node", allowed("b", "volumeattachments", "", "va"), true)
	expect("the same for another node", allowed("a", "volumeattachments", "", "va"), false)
}
