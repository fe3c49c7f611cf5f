package builtin

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// Upstream's loops try again after a conflict. They end with the request, because nothing can be read or changed then.
func TestStoragesEndWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const key = "/pods/default/p"
	s := objects{schema.GroupResource{Resource: "pods"}}
	for name, err := range map[string]error{
		"get":    s.Get(ctx, key, storage.GetOptions{}, &api.Pod{}),
		"update": s.GuaranteedUpdate(ctx, key, &api.Pod{}, false, nil, nil, nil),
		"delete": s.Delete(ctx, key, &api.Pod{}, nil, nil, nil, storage.DeleteOptions{}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s fails with %v", name, err)
		}
	}
}
