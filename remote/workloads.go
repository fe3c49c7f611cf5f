package remote

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
)

// describedWorkloads returns the configuration of workloads with absolute paths of programs, because the host
// runs in another folder.
func describedWorkloads(config string) (json.RawMessage, error) {
	if !json.Valid([]byte(config)) {
		return nil, errors.New(`the configuration is not JSON; write it such as {"nodes": 3}`)
	}
	var fields map[string]json.RawMessage
	var programs []map[string]any
	if json.Unmarshal([]byte(config), &fields) != nil || json.Unmarshal(fields["programs"], &programs) != nil {
		return json.RawMessage(config), nil // there are none, or the host reports the mistake
	}
	for _, p := range programs {
		path, ok := p["path"].(string)
		if !ok || !strings.Contains(path, "/") {
			continue
		}
		var err error
		if p["path"], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	var err error
	if fields["programs"], err = json.Marshal(programs); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// RunWorkloads runs Kubernetes' controllers and scheduler, and nodes with pods, until the end of the cluster
// or [Cluster.EndWorkloads]. Use it for forks; a new cluster has the option [Workloads], with the same
// configuration. It fails if workloads run already.
func (c *Cluster) RunWorkloads(config string) error {
	described, err := describedWorkloads(config)
	if err != nil {
		return err
	}
	if c.bubble != nil {
		c.bubble.watched.living.Store(true)
	}
	return c.do("POST", "/workloads", map[string]any{"workloads": described}, nil)
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
