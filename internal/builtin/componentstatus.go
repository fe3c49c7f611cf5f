package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/kubernetes/pkg/apis/core"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// componentStatuses are the ComponentStatuses of a real server on a machine without a scheduler and a controller
// manager. etcd is always healthy. The server does not look for programs on this machine, which do not belong to the
// cluster.
var componentStatuses = []runtime.Object{
	componentStatus("controller-manager", api.ConditionFalse, noComponent(10257)),
	componentStatus("etcd-0", api.ConditionTrue, "ok"),
	componentStatus("scheduler", api.ConditionFalse, noComponent(10259)),
}

// noComponent returns the error of a connection to a port on which nothing listens.
func noComponent(port int) string {
	return fmt.Sprintf(`Get "https://127.0.0.1:%d/healthz": dial tcp 127.0.0.1:%d: connect: connection refused`, port, port)
}

func componentStatus(name string, healthy api.ConditionStatus, message string) runtime.Object {
	return &api.ComponentStatus{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Conditions: []api.ComponentCondition{{Type: api.ComponentHealthy, Status: healthy, Message: message}},
	}
}

// computedRecord encodes, in a version, an object that is never stored.
func computedRecord(v *resource.Version, obj runtime.Object) store.Record {
	text, err := v.Codec.Encode(obj)
	if err != nil {
		panic(err) // constant objects can always be encoded
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return store.Record{Key: v.Resource.Key("", metadata.GetName()), Value: string(text), Tag: v.Identity}
}
