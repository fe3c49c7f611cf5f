package write

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/store"
)

// allocate allocates cluster-wide values that the object needs, such as the cluster IP of a Service. The caller calls
// done after the commit or the failure of the write. For a create current is nil.
func (a attempt) allocate(obj, current runtime.Object) (done func(committed bool), err error) {
	claims := a.version.Allocator
	if claims == nil || a.request.Subresource != "" {
		return func(bool) {}, nil
	}
	return claims.Allocate(a.ctx, obj, current, a.request.isDryRun())
}

// release frees what a removed object had allocated.
func (a attempt) release(record store.Record) {
	claims := a.version.Allocator
	if claims == nil {
		return
	}
	last, err := a.p.Memory.Decode(a.version, record)
	if err != nil {
		klog.ErrorS(err, "What a deleted object had claimed of the cluster cannot be freed", "key", record.Key)
		return
	}
	claims.Release(a.ctx, last.Object)
}
