// Package living describes what lives in a cluster: nodes, controllers, the scheduler, and what the containers
// of pods do. It holds what package workloads and scenario files share, and does not run anything, so that programs that
// only read scenario files do not import Kubernetes' controllers.
package living
