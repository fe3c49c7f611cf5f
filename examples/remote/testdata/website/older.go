package website

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply does what the client of controller-runtime does since 0.22: it applies, and puts the answer of the server into what was applied.
func (r *Reconciler) Apply(ctx context.Context, obj any, opts ...client.PatchOption) error {
	text, err := json.Marshal(obj)
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(text)
	}
	if err == nil {
		err = r.Patch(ctx, u, client.Apply, opts...)
	}
	if err == nil {
		text, err = u.MarshalJSON()
	}
	if err == nil {
		err = json.Unmarshal(text, obj)
	}
	return err
}
