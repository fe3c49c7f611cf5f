package regularfile

import (
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// isKustomization reports whether a file is for kustomize alone.
func isKustomization(path string) bool {
	switch filepath.Base(path) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}

// patchesOf returns the files that a kustomization names and that are not objects: patches, and
// configurations of kustomize.
func patchesOf(kustomization string) (paths []string) {
	text, err := Read(kustomization)
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
	if yaml.Unmarshal(text, &k) != nil { // it is kustomize that reports mistakes
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
