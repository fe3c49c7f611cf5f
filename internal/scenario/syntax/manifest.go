package syntax

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// manifestsOf reads a manifest in place, or all manifests of a file.
func (p *parser) manifestsOf(n *yaml.Node) []manifest {
	n = p.resolveNode(n)
	if field(n, "file") == nil || field(n, "kind") != nil {
		return []manifest{p.manifest(n)}
	}
	var name string
	var read []manifest
	p.fields(n, "a manifest's file", map[string]func(*yaml.Node){
		"file": func(n *yaml.Node) { name = p.text(n) },
		"set":  func(*yaml.Node) {},
	})
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(p.file), name)
	}
	files, err := manifests.Find(name)
	if err != nil {
		p.mistake(n, "%w", err)
		return nil
	}
	if resource := manifests.ResourceOutside(name); resource != "" {
		p.mistake(n, "the kustomization in %s needs %s, which is not in the folder; to build it, write {kustomize: %s}", name, resource, field(n, "file").Value)
		return nil
	}
	before := len(p.mistakes)
	for _, file := range files {
		read = append(read, p.manifestsOfFile(n, file, file != name)...)
	}
	if len(read) == 0 && len(p.mistakes) == before {
		p.mistake(n, "%s does not contain a manifest", name)
	}
	if len(files) != 1 || files[0] != name {
		slices.SortStableFunc(read, func(a, b manifest) int { return installStep(a) - installStep(b) })
	}
	if changes := field(n, "set"); changes != nil {
		for _, m := range read {
			p.set(changes, m.object)
		}
	}
	return read
}

// manifestsOfFile reads the manifests of one file. In a file of a folder, documents without apiVersion and
// kind are skipped: a folder also has files for other programs.
func (p *parser) manifestsOfFile(n *yaml.Node, name string, ofFolder bool) (read []manifest) {
	p.manifests = append(p.manifests, name)
	data, err := manifests.ReadFile(name)
	if err != nil {
		p.mistake(n, "%w", err)
		return nil
	}
	inner := NewParser(name)
	for _, root := range inner.Documents(data) {
		if ofFolder && field(root, "apiVersion") == nil && field(root, "kind") == nil {
			continue
		}
		read = append(read, inner.manifest(root))
	}
	p.mistakes = append(p.mistakes, inner.mistakes...)
	return read
}

// installStep returns the step in which a manifest of a folder is created.
func installStep(m manifest) int {
	apiVersion, _ := m.object["apiVersion"].(string)
	kind, _ := m.object["kind"].(string)
	return manifests.InstallStep(schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind())
}

// field returns the value of a field of the mapping n, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	n = ResolveAlias(n)
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// set changes a manifest from a file: each field of n is a path in the manifest, with its new value.
func (p *parser) set(n *yaml.Node, object map[string]any) {
	if ResolveAlias(n).Kind != yaml.MappingNode {
		p.mistake(n, "set takes a mapping of paths to values")
		return
	}
	p.eachField(ResolveAlias(n), func(key, value *yaml.Node) {
		path := strings.Split(key.Value, ".")
		if !setAt(object, path, p.tree(value, manifestMarks)) {
			p.mistake(key, "the manifest does not have the path %s", key.Value)
		}
	})
}

// setAt sets the value at a path in tree and creates missing mappings on the way. It returns false if the path leads
// through a scalar or past the end of a list.
func setAt(tree any, path []string, value any) bool {
	last := len(path) == 1
	switch inside := tree.(type) {
	case map[string]any:
		switch {
		case last:
			inside[path[0]] = value
			return true
		case inside[path[0]] == nil:
			inside[path[0]] = map[string]any{}
		}
		return setAt(inside[path[0]], path[1:], value)
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i >= len(inside):
			return false
		case last:
			inside[i] = value
			return true
		}
		return setAt(inside[i], path[1:], value)
	}
	return false
}

func (p *parser) manifest(n *yaml.Node) manifest {
	before := len(p.mistakes)
	object, ok := p.tree(n, manifestMarks).(map[string]any)
	if !ok && len(p.mistakes) == before {
		p.mistake(n, "a manifest must be a mapping with apiVersion and kind, or {file: PATH}")
	}
	for _, name := range []string{"apiVersion", "kind"} {
		switch v := object[name].(type) {
		case From, Computed:
			continue
		case string:
			if v != "" {
				continue
			}
		}
		if len(p.mistakes) == before {
			p.mistake(n, "a manifest needs %s%s", name, meantField(object))
		}
	}
	return manifest{p.position(n), object}
}

// meantField returns a hint if a field that identifies a manifest is misspelt.
func meantField(manifest map[string]any) string {
	fields := []string{"apiVersion", "kind", "file", "kustomize", "use"}
	for _, name := range slices.Sorted(maps.Keys(manifest)) {
		if hint := Suggestion(name, fields); hint != "" && !slices.Contains(fields, name) {
			return hint
		}
	}
	return ""
}
