package syntax

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A Scenario is one document of a scenario file, checked and ready to be played. It is
// immutable: it can be played any number of times, also several times concurrently.
type Scenario struct {
	// Name is the sentence after "scenario:".
	Name string
	// Case is the name of the case that this is, if the scenario has a table of cases.
	Case string
	// Position is where the document begins, or the case.
	Position
	// Cluster has the options of the cluster that the scenario needs.
	Cluster ClusterOptions

	Webhooks []Webhook
	Setup    []Step
	Steps    []Step
	// Params are what the case is made of, with its name; nil: there are no cases.
	Params map[string]any
	// Row is where the case is written.
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

// All are its steps and those of its setup.
func (s *Scenario) All() []Step { return append(slices.Clone(s.Setup), s.Steps...) }

// Groups are those of the definitions and APIServices that it makes.
func (s *Scenario) Groups() []string {
	var all []string
	for _, step := range s.All() {
		spec, _ := step.Argument["spec"].(map[string]any)
		kind := step.Argument["kind"]
		if group, ok := spec["group"].(string); ok && (kind == "CustomResourceDefinition" || kind == "APIService") && !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
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
	// LegacyAPIs also serves versions that Kubernetes has removed.
	LegacyAPIs bool
	// Controllers are those of kube-controller-manager that act, by name; nil: those that do by
	// default.
	Controllers []string
	// WithAdmissionPlugins are plugins of kube-apiserver that are turned on, and
	// WithoutAdmissionPlugins those that are turned off, by name.
	WithAdmissionPlugins, WithoutAdmissionPlugins []string
	// RuntimeConfig are versions that are off by default and are to be served, or the other way
	// round.
	RuntimeConfig []string
	// WithoutNamespaceLifecycle allows objects in namespaces that do not exist.
	WithoutNamespaceLifecycle bool
	// Alone says that the scenario is about all that is in a cluster, such as what it begins with.
	Alone bool
	// Fakecluster says that the scenario is about what only a fakecluster does.
	Fakecluster bool
}

// Service is the service that a webhook is behind.
type Service struct {
	Namespace, Name string
	Port            int
}

// Position is a place in a file. Every message begins with one.
type Position struct {
	// File is the path of the file, as it was given or found.
	File string
	// Line and Column count from 1; the column is that of a character, or 0 if the whole line is
	// meant.
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
	// Node is where it is written, in the file of pos.
	Node *yaml.Node
	Name string
	Verb *verb
	// As is the name under which later steps refer to the answer.
	As string
	// Scope is where its names are those of a shared setup; nil: they are the scenario's.
	Scope *Scope
	Request
	Expectation
}
