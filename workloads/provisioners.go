package workloads

import (
	"context"

	"k8s.io/client-go/informers"

	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
)

// provisioners provisions the volumes of claims. It implements world.Part.
type provisioners struct {
	w         *Workloads
	names     []string // as of the option Provisioners
	informers informers.SharedInformerFactory
	running   *provisioner.Provisioner // nil: Start has failed
}

// Start implements world.Part.
func (p *provisioners) Start(ctx context.Context) error {
	client, err := controlplane.NewClient(p.w.attachment.ConfigFor("system:volume-provisioner", "system:masters"), "volume-provisioner", "volume-provisioner")
	if err != nil {
		return err
	}
	p.running, err = provisioner.Start(ctx, provisioner.Config{Client: client, Informers: p.informers, Others: p.names})
	return err
}

// Wait implements world.Part.
func (p *provisioners) Wait() {
	if p.running != nil {
		p.running.Wait()
	}
}
