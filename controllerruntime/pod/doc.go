// Package pod runs the manager of an operator in a Pod: in a container of package workloads, whose program is
// a Go function.
//
//	workloads.Image("ghcr.io/acme/operator", func(ctx context.Context, c *workloads.Container) error {
//		return operator.Run(ctx, c.Args, func(options ctrl.Options) (ctrl.Manager, error) {
//			return pod.NewManager(c, options) // in production: ctrl.NewManager(ctrl.GetConfigOrDie(), options)
//		})
//	})
//
// A manager of ctrl.NewManager uses the sockets, the files and the host name of the machine. [NewManager]
// takes the same options, and uses those of the container.
package pod
