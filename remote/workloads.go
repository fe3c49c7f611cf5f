package remote

import (
	"encoding/json"
	"errors"
	"os"
)

// addWorkloads adds workloads to a request.
func (s settings) addWorkloads(config string) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	s["workloads"], s["folder"] = config, folder
	if json.Valid([]byte(config)) {
		s["workloads"] = json.RawMessage(config)
	}
	return nil
}

// RunWorkloads runs Kubernetes' controllers and scheduler, and nodes with pods, until the end of the cluster
// or [Cluster.EndWorkloads]. Use it for forks; a new cluster has the option [Workloads], with the same
// configuration. It fails if workloads run already.
func (c *Cluster) RunWorkloads(config string) error {
	s := settings{}
	if err := s.addWorkloads(config); err != nil {
		return err
	}
	if c.bubble != nil {
		c.bubble.watched.living.Store(true)
	}
	return c.do("POST", "/workloads", s, nil)
}

// EndWorkloads ends the workloads of the cluster. It returns the errors of controllers and Nodes, and
// behaviors that have selected no container.
func (c *Cluster) EndWorkloads() error {
	var ended struct{ Errors []string }
	if err := c.do("DELETE", "/workloads", nil, &ended); err != nil {
		return err
	}
	var errs []error
	for _, text := range ended.Errors {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// Node controls a Node of a cluster with workloads, to test what happens to Nodes in real clusters.
type Node struct {
	c    *Cluster
	name string
}

// Node returns a handle of the Node with this name. Its methods fail if there is none.
func (c *Cluster) Node(name string) *Node { return &Node{c, name} }

// Cordon makes the Node unschedulable.
func (n *Node) Cordon() error { return n.act("cordon") }

// Uncordon makes the Node schedulable again.
func (n *Node) Uncordon() error { return n.act("uncordon") }

// Drain cordons the Node and evicts its Pods.
func (n *Node) Drain() error { return n.act("drain") }

// Delete deletes the Node.
func (n *Node) Delete() error { return n.act("delete") }

// StopHeartbeats stops the heartbeats of the Node, as if its machine had failed: it becomes NotReady.
func (n *Node) StopHeartbeats() error { return n.act("stopHeartbeats") }

// ResumeHeartbeats resumes the heartbeats after StopHeartbeats.
func (n *Node) ResumeHeartbeats() error { return n.act("resumeHeartbeats") }

// SetPressure turns the condition MemoryPressure, DiskPressure or PIDPressure of the Node on or
// off.
func (n *Node) SetPressure(kind string, on bool) error {
	return n.do(map[string]any{"action": "setPressure", "pressure": kind, "on": on})
}

func (n *Node) act(action string) error { return n.do(map[string]any{"action": action}) }

func (n *Node) do(body map[string]any) error {
	return n.c.do("POST", "/nodes/"+escaped(n.name), body, nil)
}
