// Package living describes, as data, what runs in a cluster: nodes, controllers, the scheduler, and what the
// containers of pods do. Package workloads and scenario files share it. It does not run anything, so programs
// that only read scenario files do not import Kubernetes' controllers.
package living
