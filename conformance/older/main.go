// Command older writes what the published API of older releases does not have in common with that of the newest one: the resources and
// subresources that they do not have in a version of a group that they have, and for each definition of OpenAPI the JSON
// merge patch (RFC 7386) that makes the older one of it. Descriptions stay. From the folder conformance:
//
//	go run ./older # writes ../internal/release/api-*.json
//
// It reads the documents in the folder api of k8s.io/kubernetes, which go mod download brings.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/real/programs"
)

const (
	kubernetes = "k8s.io/kubernetes"
	into       = "../internal/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "older:", err)
		os.Exit(1)
	}
}

// api is the content of a file.
type api struct {
	Release     string         `json:"release"`
	Lacks       []string       `json:"lacks"`
	Definitions map[string]any `json:"definitions"`
}

func run(ctx context.Context) error {
	newest, err := programs.Newest(ctx, "real/modules")
	if err != nil {
		return err
	}
	latest, err := read(ctx, newest)
	if err != nil {
		return err
	}
	former, err := filepath.Glob(filepath.Join(into, "api-*.json"))
	if err != nil {
		return err
	}
	for _, file := range former { // one of them is of a version that the newest does not emulate any more
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, minor := range programs.OlderVersions() {
		release, err := programs.Release(minor)
		if err != nil {
			return err
		}
		old, err := read(ctx, release)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		lines := json.NewEncoder(&text)
		lines.SetIndent("", " ")
		if err := lines.Encode(api{release, lacking(latest.resources, old.resources), changes(latest.definitions, old.definitions)}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, "api-"+minor+".json"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// published is what a release has published.
type published struct {
	definitions map[string]any
	resources   map[string]map[string]bool // and subresources, such as pods/status, by group and version, such as apps/v1
}

// read reads the documents of a release.
func read(ctx context.Context, release string) (*published, error) {
	out, err := gotool.Output(ctx, "", "mod", "download", "-json", kubernetes+"@"+release)
	if err != nil {
		return nil, err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return nil, err
	}
	var openapi struct{ Definitions map[string]any }
	if err := readJSON(filepath.Join(downloaded.Dir, "api", "openapi-spec", "swagger.json"), &openapi); err != nil {
		return nil, err
	}
	var discovery apidiscoveryv2.APIGroupDiscoveryList
	if err := readJSON(filepath.Join(downloaded.Dir, "api", "discovery", "aggregated_v2.json"), &discovery); err != nil {
		return nil, err
	}
	p := &published{openapi.Definitions, map[string]map[string]bool{}}
	for _, group := range discovery.Items {
		for _, version := range group.Versions {
			names := map[string]bool{}
			for _, r := range version.Resources {
				names[r.Resource] = true
				for _, s := range r.Subresources {
					names[r.Resource+"/"+s.Subresource] = true
				}
			}
			p.resources[schema.GroupVersion{Group: group.Name, Version: version.Version}.String()] = names
		}
	}
	return p, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// lacking returns the resources and subresources that the older release does not have, in versions of groups that it has.
func lacking(latest, old map[string]map[string]bool) []string {
	gone := []string{}
	for gv, names := range latest {
		for name := range names {
			if old[gv] != nil && !old[gv][name] {
				gone = append(gone, gv+" "+name)
			}
		}
	}
	slices.Sort(gone)
	return gone
}

// changes returns the patches of the definitions that both have. What only the older release has is left out: there is no Go type
// for it.
func changes(latest, old map[string]any) map[string]any {
	properties := map[string]any{}
	for name, property := range latest {
		definition, ok := old[name].(map[string]any)
		if !ok {
			continue
		}
		from := property.(map[string]any)
		if patch := merge(from, definition, true); len(patch) > 0 {
			properties[name] = patch
		}
	}
	return properties
}

// merge returns the merge patch from one schema, or from its properties, to another.
func merge(from, to map[string]any, isSchema bool) map[string]any {
	patch := map[string]any{}
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		other, found := to[key]
		otherMap, bothMaps := other.(map[string]any)
		switch {
		case isSchema && (key == "description" || key == "x-kubernetes-group-version-kind"):
		case !found:
			patch[key] = nil
		case isMap && bothMaps:
			if below := merge(inner, otherMap, !isSchema || key != "properties"); len(below) > 0 {
				patch[key] = below
			}
		case !reflect.DeepEqual(value, other):
			patch[key] = other
		}
	}
	for key, value := range to {
		if _, found := from[key]; !found && isSchema && key != "description" {
			patch[key] = value
		}
	}
	return patch
}
