package controlplane

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// builder has the arguments of the functions in the table, which make controllers.
type builder struct {
	// ctx ends with the controllers. It has the controller's name, for panics.
	ctx context.Context
	// informers are shared by all controllers. Their user is system:kube-controller-manager.
	informers informers.SharedInformerFactory
	mapper    meta.RESTMapper

	config   func(account string) *rest.Config
	root     func(name string) (kubernetes.Interface, error) // a client of kube-controller-manager itself
	signing  func() (fakecluster.Signing, error)
	idle     *Idle
	accounts []string // the used ones
}

// restConfig returns the configuration of a client whose user is a ServiceAccount in kube-system.
func (b *builder) restConfig(account string) *rest.Config {
	b.accounts = append(b.accounts, account)
	return asProgram(b.config(account), controllerManager, "system:serviceaccount:kube-system:"+account)
}

// client returns a client whose user is a ServiceAccount in kube-system.
func (b *builder) client(account string) (kubernetes.Interface, error) {
	return newClient(b.restConfig(account))
}

// together returns a function that runs functions concurrently. It returns when all have returned.
func together(parts ...runFunc) runFunc {
	return func(ctx context.Context) {
		var running sync.WaitGroup
		for _, run := range parts {
			running.Go(func() {
				defer recoverPanic(ctx)
				run(ctx)
			})
		}
		running.Wait()
	}
}
