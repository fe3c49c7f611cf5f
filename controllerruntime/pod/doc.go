// Package pod runs the manager of an operator in a Pod of a living cluster: in a container of package workloads, whose program is a
// Go function.
//
//	workloads.Image("ghcr.io/acme/operator", func(ctx context.Context, c *workloads.Container) error {
//		return operator.Run(ctx, c.Args, func(options ctrl.Options) (ctrl.Manager, error) {
//			return pod.NewManager(c, options) // in production: ctrl.NewManager(ctrl.GetConfigOrDie(), options)
//		})
//	})
//
// A manager that ctrl.NewManager returns opens sockets of the machine, reads its files, and has its host name. [NewManager]
// takes the same options, and uses what the container has.
package pod
