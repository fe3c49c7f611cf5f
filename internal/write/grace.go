package write

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// beforeDelete checks the preconditions of a delete, and reports whether the kind deletes the object gracefully: a Pod
// on a node is marked, and its kubelet deletes it once its containers have ended. graceful: obj has been marked.
// pending: it was marked before and is unchanged. It alters the object and the options.
//
// It follows upstream's registry/rest.BeforeDelete, with the clock of the cluster.
func (a attempt) beforeDelete(obj runtime.Object, options *metav1.DeleteOptions) (graceful, pending bool, err error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return false, false, err
	}
	marked, had := metadata.GetDeletionTimestamp(), metadata.GetDeletionGracePeriodSeconds()
	graceful, pending, err = registryrest.BeforeDelete(deleteStrategy(a.version), a.ctx, obj, options)
	if err != nil || !graceful {
		return graceful, pending, err
	}
	period := *options.GracePeriodSeconds
	ends := a.p.Now()
	if marked == nil {
		ends = metav1.NewTime(ends.Add(seconds(period)))
	} else if shortened := marked.Add(seconds(period - *had)); shortened.After(ends.Time) {
		ends = metav1.NewTime(shortened)
	} else if shortened.Before(ends.Time) && period != 0 {
		period = 1 // the grace period is over, but the kubelet has to end the pod
	}
	metadata.SetDeletionTimestamp(&ends)
	metadata.SetDeletionGracePeriodSeconds(&period)
	return graceful, pending, nil
}

// deleteStrategy returns the strategy that upstream calls for a delete.
func deleteStrategy(v *resource.Version) registryrest.RESTDeleteStrategy {
	typer := struct{ runtime.ObjectTyper }{v.Strategy}
	if v.Deletion.Graceful == nil {
		return typer
	}
	return gracefulStrategy{typer, v.Deletion.Graceful}
}

type gracefulStrategy struct {
	runtime.ObjectTyper
	check func(context.Context, runtime.Object, *metav1.DeleteOptions) bool
}

// CheckGracefulDelete implements registryrest.RESTGracefulDeleteStrategy.
func (s gracefulStrategy) CheckGracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	return s.check(ctx, obj, options)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
