package pod

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/workloads"
)

// defaultRenewDeadline is the default RenewDeadline of a controller-runtime manager.
const defaultRenewDeadline = 10 * time.Second

// newLock sets the lock of leader election in the options. It is the lock that a manager creates, except that
// its identity contains the name of the Pod and not that of the machine. newLock returns nil without leader
// election, or if the options have a lock.
func newLock(c *workloads.Container, config *rest.Config, o *ctrl.Options) (*resourcelock.LeaseLock, error) {
	if !o.LeaderElection || o.LeaderElectionResourceLockInterface != nil || o.LeaderElectionID == "" {
		return nil, nil
	}
	if o.LeaderElectionConfig != nil {
		config = o.LeaderElectionConfig
	}
	if o.LeaderElectionNamespace == "" {
		o.LeaderElectionNamespace = c.Pod.Namespace
	}
	deadline := defaultRenewDeadline
	if o.RenewDeadline != nil {
		deadline = *o.RenewDeadline
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = max(deadline/2, time.Second) // one request that hangs does not lose the lead
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.LeaderElectionNamespace, Name: o.LeaderElectionID},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.Hostname + "_" + string(uuid.NewUUID())},
		Labels:     o.LeaderElectionLabels,
	}
	o.LeaderElectionResourceLockInterface = lock
	return lock, nil
}
