package syntax

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// Scope has the names that are visible in a shared setup: its parameters, under the name "with". Names of the
// scenario that uses the setup are not visible.
type Scope struct {
	// With are the parameters, with marks that outer resolves.
	With  map[string]any
	Outer *Scope
}

// use reads a shared setup from its file.
func (p *parser) use(n *yaml.Node) []Step {
	var name string
	with := map[string]any{}
	var withNode *yaml.Node
	before := len(p.mistakes)
	p.fields(n, "the use of a shared setup", map[string]func(*yaml.Node){
		"use": func(n *yaml.Node) { name = p.text(n) },
		"with": func(n *yaml.Node) {
			n = p.resolveNode(n)
			withNode = n
			tree, ok := p.tree(n, manifestMarks).(map[string]any)
			if !ok && len(p.mistakes) == before {
				p.mistake(n, "with takes a mapping of parameters to values")
			}
			maps.Copy(with, tree)
		},
	})
	if len(p.mistakes) > before {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(p.file), name)
	}
	p.manifests = append(p.manifests, name)
	if slices.Contains(p.enclosing, name) {
		p.mistake(n, "%s uses itself", name)
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		p.mistake(n, "%s is a folder, and a shared setup is a file; to create the manifests in the folder, write {file: %s}", name, filepath.Base(name))
		return nil
	}
	data, err := manifests.ReadFile(name)
	if err != nil {
		p.mistake(n, "%w", err)
		return nil
	}
	inner := NewParser(name)
	inner.scope = &Scope{With: with, Outer: p.scope}
	inner.enclosing = append(slices.Clone(p.enclosing), name)
	inner.reader = p.reader
	inner.nodes = p.nodes // of all files together
	defer func() {
		p.nodes = inner.nodes
		p.mistakes = append(p.mistakes, inner.mistakes...)
		p.manifests = append(p.manifests, inner.manifests...)
	}()
	roots := inner.Documents(data)
	if len(roots) != 1 || field(roots[0], "setup") == nil {
		if len(inner.mistakes) == 0 {
			p.mistake(n, "%s is not a shared setup, which is one document with setup and, optionally, parameters; to create the manifests in it, write {file: %s}", name, filepath.Base(name))
		}
		return nil
	}
	defaults := map[string]any{}
	if parameters := field(roots[0], "parameters"); parameters != nil {
		tree, ok := inner.tree(parameters, []string{TagAbsent, TagPresent}).(map[string]any)
		if !ok && len(inner.mistakes) == 0 {
			inner.mistake(parameters, "parameters takes a mapping of names to default values, or !present for required ones")
		}
		defaults = tree
	}
	for _, parameter := range slices.Sorted(maps.Keys(with)) {
		if _, declared := defaults[parameter]; !declared {
			p.mistake(withNode, "%s does not have the parameter %q%s", name, parameter, Suggestion(parameter, slices.Collect(maps.Keys(defaults))))
		}
	}
	for parameter, value := range defaults {
		if _, given := with[parameter]; given {
			continue
		}
		if _, needed := value.(Present); needed {
			p.mistake(n, "%s needs the parameter %q", name, parameter)
		}
		with[parameter] = value
	}
	inner.parameters[WithName] = []*parameters{{
		owner: fmt.Sprintf("the shared setup %s", name), values: with, used: map[string]bool{},
		nodes: []*yaml.Node{withNode, field(roots[0], "parameters")}, parser: p,
	}}
	var steps []Step
	inner.fields(roots[0], "a shared setup", map[string]func(*yaml.Node){
		"parameters": func(*yaml.Node) {},
		"setup":      func(n *yaml.Node) { steps = inner.setup(n, nil) },
	})
	return steps
}
