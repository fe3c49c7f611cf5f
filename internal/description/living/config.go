package living

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

// Config describes the nodes, controllers and scheduler of a cluster, and what its containers do.
type Config struct {
	// Nodes is a number, or a list of Node objects. Default: [DefaultNodes].
	Nodes Nodes `json:"nodes,omitzero"`
	// ControlPlane adds a node of the control plane with its static pods, CoreDNS and kube-proxy.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Behaviors describe what containers do. The first one that selects a container applies.
	Behaviors []Behavior `json:"behaviors,omitempty"`
	// Programs run the containers of images as programs of the machine, in real time.
	Programs []Program `json:"programs,omitempty"`
	// Provisioners are the provisioners of StorageClasses whose claims get volumes, in addition to
	// fakecluster's own; "*" means all.
	Provisioners []string `json:"provisioners,omitempty"`
	// Controllers are the controllers that run, in the syntax of the flag --controllers of
	// kube-controller-manager. Default: all.
	Controllers []string `json:"controllers,omitzero"`
	// Scheduler is false for none, or a KubeSchedulerConfiguration. Default: one with the default profile.
	Scheduler Scheduler `json:"scheduler,omitzero"`
}

// DefaultNodes is the number of nodes of a Config without Nodes.
const DefaultNodes = 3

// Nodes is a number of nodes, or a list of Node objects.
type Nodes struct {
	Count   int
	Objects []*corev1.Node
}

// Scheduler is the configuration of the scheduler.
type Scheduler struct {
	None   bool
	Config json.RawMessage // a KubeSchedulerConfiguration; empty: the default
}

// MarshalJSON writes a number or a list.
func (n Nodes) MarshalJSON() ([]byte, error) {
	if n.Objects == nil {
		return json.Marshal(n.Count)
	}
	return json.Marshal(n.Objects)
}

// UnmarshalJSON reads a number or a list.
func (n *Nodes) UnmarshalJSON(data []byte) error {
	*n = Nodes{}
	if json.Unmarshal(data, &n.Count) == nil {
		return nil
	}
	return json.Unmarshal(data, &n.Objects)
}

// MarshalJSON writes false or a mapping.
func (s Scheduler) MarshalJSON() ([]byte, error) {
	if s.None {
		return []byte("false"), nil
	}
	if len(s.Config) == 0 {
		return []byte("true"), nil
	}
	return s.Config, nil
}

// UnmarshalJSON reads a boolean or a mapping.
func (s *Scheduler) UnmarshalJSON(data []byte) error {
	*s = Scheduler{}
	var runs bool
	if json.Unmarshal(data, &runs) == nil {
		s.None = !runs
		return nil
	}
	s.Config = slices.Clone(data)
	return nil
}

// Read reads a Config from a node of a YAML document.
func Read(n *yaml.Node) (*Config, []Mistake) {
	c, s := &Config{}, &strict{}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" {
		return c, nil
	}
	if n.Kind != yaml.MappingNode {
		s.fields(n, reflect.TypeFor[Config]())
		return c, s.mistakes
	}
	s.each(n, func(key, value *yaml.Node) {
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch key.Value {
		case "nodes":
			s.readNodes(value, &c.Nodes)
		case "controlPlane":
			s.read(value, &c.ControlPlane)
		case "behaviors":
			s.readBehaviors(value, &c.Behaviors)
		case "programs":
			s.readPrograms(value, &c.Programs)
		case "provisioners":
			s.read(value, &c.Provisioners)
		case "controllers":
			c.Controllers = []string{}
			s.read(value, &c.Controllers)
		case "scheduler":
			s.readScheduler(value, &c.Scheduler)
		default:
			s.mistake(key, "unknown field %q (allowed: %s)", key.Value, strings.Join(names(reflect.TypeFor[Config]()), ", "))
		}
	})
	return c, s.mistakes
}

func (s *strict) readNodes(n *yaml.Node, into *Nodes) {
	if n.Kind == yaml.SequenceNode {
		s.read(n, &into.Objects)
		if len(n.Content) == 0 {
			s.mistake(n, "give at least one node")
		}
		return
	}
	if n.ShortTag() != "!!int" || n.Decode(&into.Count) != nil {
		s.mistake(n, "this must be a number of nodes, such as 3, or a list of Node objects")
	} else if into.Count < 1 {
		s.mistake(n, "give at least one node")
	}
}

// readBehaviors reads behaviors, and reports invalid ones.
func (s *strict) readBehaviors(n *yaml.Node, into *[]Behavior) {
	if n.Kind != yaml.SequenceNode {
		s.mistake(n, "this must be a list of behaviors")
		return
	}
	for _, item := range n.Content {
		var b Behavior
		before := len(s.mistakes)
		s.read(item, &b)
		if len(s.mistakes) > before {
			continue
		}
		if err := b.Validate(); err != nil {
			s.mistake(item, "the behavior of %s: %v", b, err)
		}
		*into = append(*into, b)
	}
}

func (s *strict) readScheduler(n *yaml.Node, into *Scheduler) {
	switch {
	case n.Kind == yaml.MappingNode:
		s.read(n, into)
	case n.ShortTag() == "!!bool":
		var runs bool
		_ = n.Decode(&runs)
		into.None = !runs
	default:
		s.mistake(n, "this must be false, for no scheduler, or a KubeSchedulerConfiguration")
	}
}

// yamlMessage matches an error of the YAML library, with its line.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// ReadBehavior reads a Behavior from YAML, such as {image: web, readyDelay: 20s}.
func ReadBehavior(text string) (Behavior, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return Behavior{}, err
	}
	if document.Kind == 0 {
		return Behavior{}, errors.New("the behavior is empty; write one such as {image: web, readyDelay: 20s}")
	}
	var s strict
	var read []Behavior
	s.readBehaviors(&yaml.Node{Kind: yaml.SequenceNode, Content: document.Content}, &read)
	if len(s.mistakes) > 0 {
		return Behavior{}, errors.New(s.mistakes[0].Text)
	}
	return read[0], nil
}

// ReadFile reads a Config from the text of a file. The errors begin with the name, the line and the column.
func ReadFile(name string, data []byte) (*Config, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &Config{}, nil
	} else if err != nil {
		line, text := 1, err.Error()
		if m := yamlMessage.FindStringSubmatch(text); m != nil {
			text = m[2]
			if position, err := strconv.Atoi(m[1]); err == nil {
				line = position
			}
		}
		return nil, fmt.Errorf("%s:%d: not YAML: %s", name, line, text)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: this must be one YAML document", name)
	}
	c, mistakes := Read(document.Content[0])
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("%s:%d:%d: %s", name, m.Line, m.Column, m.Text))
	}
	return c, errors.Join(errs...)
}
