package manifests

import (
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// kustomizationNames are the names of a kustomization's file.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// isKustomization reports whether a file is for kustomize alone.
func isKustomization(path string) bool {
	return slices.Contains(kustomizationNames, filepath.Base(path))
}

// ResourceOutside returns the first resource of a folder's kustomization that is outside of the folder, such as ../crd,
// as the kustomization names it. It returns "" if there is none, or no kustomization.
func ResourceOutside(folder string) string {
	for _, resource := range kustomizationIn(folder).resources() {
		if !filepath.IsLocal(resource) || strings.Contains(resource, "://") {
			return resource
		}
	}
	return ""
}

// Kustomization returns the files that a folder's kustomization may use: those in the folder, and those of the resources
// that it names elsewhere.
func Kustomization(folder string) []string { return kustomizationFiles(folder, map[string]bool{}) }

func kustomizationFiles(path string, seen map[string]bool) []string {
	if seen[path] {
		return nil
	}
	seen[path] = true
	files, err := Files(path)
	if err != nil {
		return nil // kustomize reports it
	}
	for _, resource := range kustomizationIn(path).resources() {
		if !filepath.IsAbs(resource) {
			resource = filepath.Join(path, resource)
		}
		files = append(files, kustomizationFiles(resource, seen)...)
	}
	return files
}

// kustomization has the fields of a kustomization that name resources.
type kustomization struct {
	Resources  []string `json:"resources"`
	Bases      []string `json:"bases"`
	Components []string `json:"components"`
}

func (k kustomization) resources() []string { return slices.Concat(k.Resources, k.Bases, k.Components) }

// kustomizationIn reads the kustomization in a folder. It returns the zero value if there is none.
func kustomizationIn(folder string) (k kustomization) {
	for _, name := range kustomizationNames {
		if text, err := ReadFile(filepath.Join(folder, name)); err == nil {
			_ = yaml.Unmarshal(text, &k) // kustomize reports mistakes
			break
		}
	}
	return k
}

// patchesOf returns the files without objects that a kustomization names: patches, and configurations of kustomize.
func patchesOf(kustomization string) (paths []string) {
	text, err := ReadFile(kustomization)
	if err != nil {
		return nil
	}
	type file struct {
		Path string `json:"path"`
	}
	var k struct {
		Patches               []file   `json:"patches"`
		PatchesJSON6902       []file   `json:"patchesJson6902"`
		Replacements          []file   `json:"replacements"`
		PatchesStrategicMerge []string `json:"patchesStrategicMerge"`
		Configurations        []string `json:"configurations"`
		Transformers          []string `json:"transformers"`
		Generators            []string `json:"generators"`
	}
	if yaml.Unmarshal(text, &k) != nil { // kustomize reports mistakes
		return nil
	}
	add := func(path string) {
		if path != "" {
			paths = append(paths, filepath.Join(filepath.Dir(kustomization), path))
		}
	}
	for _, files := range [][]file{k.Patches, k.PatchesJSON6902, k.Replacements} {
		for _, one := range files {
			add(one.Path)
		}
	}
	for _, files := range [][]string{k.PatchesStrategicMerge, k.Configurations, k.Transformers, k.Generators} {
		for _, one := range files {
			add(one)
		}
	}
	return paths
}
