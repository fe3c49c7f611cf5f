package write

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/store"
)

// claim has an object take of the cluster what there is only once: a Service takes its
// cluster IP. The caller calls settle when the write has been committed, or has failed. For
// a create current is nil.
func (a attempt) claim(obj, current runtime.Object) (settle func(committed bool), err error) {
	claims := a.version.Claims
	if claims == nil || a.request.Subresource != "" {
		return func(bool) {}, nil
	}
	return claims.Take(a.ctx, obj, current, a.request.isDryRun())
}

// giveBack frees what the object of a record has taken, which has been removed.
func (a attempt) giveBack(record store.Record) {
	claims := a.version.Claims
	if claims == nil {
		return
	}
	last, err := a.p.Memory.Decode(a.version, record)
	if err != nil {
		klog.ErrorS(err, "What a deleted object has taken of the cluster is not free again", "key", record.Key)
		return
	}
	claims.Release(a.ctx, last.Object)
}
