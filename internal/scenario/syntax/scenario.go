package syntax

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/description/living"
)

// A Scenario is one document of a scenario file, checked and ready to be played. It is
// immutable: it can be played any number of times, also several times concurrently.
type Scenario struct {
	// Name is the sentence after "scenario:".
	Name string
	// Case is the name of the case that this is, if the scenario has a table of cases.
	Case string
	// Position is where the document, or the case, begins.
	Position
	// Cluster is the "cluster:" part: the options of the cluster that the scenario needs.
	Cluster ClusterOptions
	// Workloads is the "workloads:" part: what lives in the cluster; nil: nothing does.
	Workloads *living.Config

	Webhooks []Webhook
	Setup    []Step
	Steps    []Step
	// Params are the parameters of the case, including its name; nil: there are no cases.
	Params map[string]any
	// Row is the node of the case in the table.
	Row *yaml.Node
	// Cases is what the cases of a scenario have in common; nil: there are no cases.
	Cases *Cases
}

// Title is the name of the scenario and of the case.
func (s *Scenario) Title() string {
	if s.Case == "" {
		return s.Name
	}
	return s.Name + ": " + s.Case
}

// All returns the steps of the setup and the steps.
func (s *Scenario) All() []Step { return append(slices.Clone(s.Setup), s.Steps...) }

// Groups returns the groups of the definitions and APIServices that the scenario creates.
func (s *Scenario) Groups() []string {
	var names []string
	for _, step := range s.All() {
		spec, _ := step.Argument["spec"].(map[string]any)
		kind := step.Argument["kind"]
		if group, ok := spec["group"].(string); ok && (kind == "CustomResourceDefinition" || kind == "APIService") && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	return names
}

// Cases is what the cases of one scenario have in common.
type Cases struct {
	// Count is how many there are.
	Count int
	// SharedSetup is how many steps of the setup are the same for all of them.
	SharedSetup int
}

// ClusterOptions is the "cluster:" part of a scenario. The zero value is a cluster as
// [fakecluster.New] makes it without options.
type ClusterOptions struct {
	// Cluster has the options of any cluster.
	description.Cluster
	// Alone: the scenario concerns everything in a cluster, such as its initial objects.
	Alone bool
	// Fakecluster: the scenario tests behavior of fakecluster alone.
	Fakecluster bool
}

// Service is the service of a webhook.
type Service struct {
	Namespace, Name string
	Port            int
}

// Position is a place in a file. Every message begins with one.
type Position struct {
	// File is the path of the file, as it was given or found.
	File string
	// Line and Column count from 1; Column counts characters; it is 0 for a
	// whole line.
	Line, Column int
}

// String returns FILE:LINE.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// exactly returns FILE:LINE:COLUMN, for an editor to go there.
func (p Position) exactly() string {
	if p.Column == 0 {
		return p.String()
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// manifest is an object as the author of the scenario wrote it. It may contain marks.
type manifest struct {
	pos    Position
	object map[string]any
}

// Step is one request and the expectations of its answer.
type Step struct {
	Pos Position
	// Node is the step in the file of Pos.
	Node *yaml.Node
	Name string
	Verb *Verb
	// As is the name under which later steps refer to the answer.
	As string
	// Scope is the scope of its shared setup; nil: the scenario itself has the step.
	Scope *Scope
	Request
	Expectation
}
