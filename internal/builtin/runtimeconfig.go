package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuntimeConfig says which versions that are off by default are served.
type RuntimeConfig struct {
	versions map[schema.GroupVersion]bool
}

// ParseRuntimeConfig reads what kube-apiserver takes as --runtime-config: versions with
// true or false, joined by commas, as in
//
//	resource.k8s.io/v1beta2=true,coordination.k8s.io/v1beta1=true
//
// A version without a value is served. api/beta and api/alpha mean all versions of
// that stability.
func ParseRuntimeConfig(texts ...string) (RuntimeConfig, error) {
	c := RuntimeConfig{versions: map[schema.GroupVersion]bool{}}
	for _, text := range texts {
		for _, one := range strings.Split(text, ",") {
			if one = strings.TrimSpace(one); one == "" {
				continue
			}
			name, value, given := strings.Cut(one, "=")
			if given && value != "true" && value != "false" {
				return c, fmt.Errorf("%q: the value must be true or false", one)
			}
			if err := c.set(name, value != "false"); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (c RuntimeConfig) set(name string, served bool) error {
	if stability, ok := strings.CutPrefix(name, "api/"); ok {
		if stability != "beta" && stability != "alpha" {
			return fmt.Errorf("%q: fakecluster knows api/beta and api/alpha", name)
		}
		for gv := range optional() {
			if strings.Contains(gv.Version, stability) {
				c.versions[gv] = served
			}
		}
		return nil
	}
	gv, err := schema.ParseGroupVersion(name)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if !optional()[gv] {
		return fmt.Errorf("%q: fakecluster has no such version that is off by default; it has %s", name, strings.Join(OptionalVersions(), ", "))
	}
	c.versions[gv] = served
	return nil
}

// optional are the versions that are off by default.
func optional() map[schema.GroupVersion]bool {
	all := map[schema.GroupVersion]bool{}
	for _, g := range groups {
		for _, k := range g.kinds {
			for _, v := range k.optional {
				all[schema.GroupVersion{Group: g.name, Version: v}] = true
			}
		}
	}
	return all
}

// OptionalVersions are the versions that are off by default, in order.
func OptionalVersions() []string {
	var all []string
	for gv := range optional() {
		all = append(all, gv.String())
	}
	slices.Sort(all)
	return all
}

func (c RuntimeConfig) serves(gv schema.GroupVersion) bool { return c.versions[gv] }

// String names the versions that are served, in order.
func (c RuntimeConfig) String() string {
	var all []string
	for _, gv := range slices.SortedFunc(maps.Keys(c.versions), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		if c.versions[gv] {
			all = append(all, gv.String())
		}
	}
	return strings.Join(all, ",")
}
