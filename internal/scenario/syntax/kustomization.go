package syntax

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// notBuilt is the mistake for a kustomization if the Reader cannot build one.
const notBuilt = "the setup has a kustomization: give scenarios.Run the option scenarios.WithKustomize(kustomize.Build), with package github.com/fakecluster/fakecluster/kustomize"

// kustomization reads the objects of a kustomization, in the order that installing needs.
func (p *parser) kustomization(n *yaml.Node) (built []manifest) {
	var folder string
	p.fields(n, "a kustomization", map[string]func(*yaml.Node){"kustomize": func(n *yaml.Node) { folder = p.text(n) }})
	if folder == "" {
		return nil
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(p.file), folder)
	}
	p.manifests = append(p.manifests, manifests.Kustomization(folder)...)
	if p.reader.Kustomize == nil {
		p.mistake(n, notBuilt)
		return nil
	}
	objects, err := p.reader.Kustomize(folder)
	if err != nil {
		p.mistake(n, "%w", err)
		return nil
	}
	inner := NewParser(folder)
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			p.mistake(n, "%w", err)
			return nil
		}
		for _, root := range inner.Documents(text) {
			m := inner.manifest(root)
			m.pos = p.position(n)
			built = append(built, m)
		}
	}
	p.mistakes = append(p.mistakes, inner.mistakes...)
	slices.SortStableFunc(built, func(a, b manifest) int { return installStep(a) - installStep(b) })
	return built
}
